import { RotateCw } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { repoApi } from "@/api/repo-client";
import { useDeliveries } from "@/api/repo-queries";
import type { Connection } from "@/api/sse";
import type { Delivered, DeliveryInfo, FiringInfo, HookInfo, RunInfo } from "@/api/types";
import { describeAnswer, eventOf } from "@/core/deliveries";
import { runLink } from "@/core/links";
import { formatBytes, formatMoment } from "@/core/time";
import { Firing, useRunsSince } from "@/features/repos/firing";
import { Ago } from "@/ui/ago";
import { Button } from "@/ui/button";
import { Failed, Loading } from "@/ui/feedback";
import { Fold } from "@/ui/fold";
import { Facts, Section } from "@/ui/panel";
import { StatusIcon } from "@/ui/status-icon";
import { toast } from "@/ui/toast";

type HookDeliveriesProps = {
  hook: HookInfo;
  now: number;
  connection: Connection;
};

/** What was delivered to a webhook, the newest first, and what each flow made of it. */
export function HookDeliveries({ hook, now, connection }: HookDeliveriesProps) {
  const deliveries = useDeliveries(hook.repo, hook.id);
  const runs = useRunsSince(hook.repo, deliveries.data?.at(-1)?.at ?? null, connection);
  if (deliveries.isError) return <Failed error={deliveries.error} onRetry={() => deliveries.refetch()} />;
  if (!deliveries.data) return <Loading label="Loading deliveries" />;
  if (deliveries.data.length === 0) return <p className="text-muted">Nothing has been delivered yet.</p>;
  return (
    <ul aria-label="Deliveries" className="divide-y divide-line rounded-md border border-line bg-surface">
      {deliveries.data.map((delivery) => (
        <li key={delivery.id}>
          <Delivery hook={hook} delivery={delivery} runs={runs} now={now} />
        </li>
      ))}
    </ul>
  );
}

type DeliveryProps = {
  hook: HookInfo;
  delivery: DeliveryInfo;
  runs: ReadonlyMap<string, RunInfo>;
  now: number;
};

function Delivery({ hook, delivery, runs, now }: DeliveryProps) {
  const answer = describeAnswer(delivery);
  return (
    <Fold
      look="grid-cols-[1rem_1rem_minmax(0,1fr)_auto] px-3"
      inside="space-y-3 px-3"
      summary={
        <>
          <StatusIcon status={answer.status} className="size-3.5" />
          <span className="min-w-0 truncate">
            <span className="font-medium">{eventOf(delivery)}</span>{" "}
            <span className="text-muted text-sm">
              {answer.text}
              {delivery.status === 202 && `, started ${tellStarted(delivery.firings)}`}
            </span>
          </span>
          <Ago at={delivery.at} now={now} className="text-muted text-sm" />
        </>
      }
    >
      {delivery.status === 202 && <Outcome firings={delivery.firings} runs={runs} />}
      <Details delivery={delivery} />
      <Again hook={hook} delivery={delivery} />
    </Fold>
  );
}

function Outcome({ firings, runs }: { firings: readonly FiringInfo[]; runs: ReadonlyMap<string, RunInfo> }) {
  return (
    <Section title="Flows">
      {firings.length === 0 ? (
        <p className="text-muted">No flow had a webhook trigger.</p>
      ) : (
        <ul aria-label="Flows" className="divide-y divide-line">
          {firings.map((firing) => (
            <li key={firing.id} className="py-0.5">
              <Firing firing={firing} run={firing.run === null ? undefined : runs.get(firing.run)} canChange />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Details({ delivery }: { delivery: DeliveryInfo }) {
  return (
    <Section title="Delivery">
      <Facts
        facts={[
          ["Received", formatMoment(delivery.at)],
          ["Answered with", delivery.status],
          ["Reason", delivery.reason],
          ["ID", delivery.delivery && <span className="break-all font-mono text-sm">{delivery.delivery}</span>],
          ["Body", formatBytes(delivery.size)],
          ...Object.entries(delivery.headers).map(
            ([name, value]) =>
              [
                name,
                <span key={name} className="break-all font-mono text-sm">
                  {value}
                </span>,
              ] as const,
          ),
        ]}
      />
    </Section>
  );
}

function Again({ hook, delivery }: { hook: HookInfo; delivery: DeliveryInfo }) {
  const [, navigate] = useLocation();
  const [isBusy, setBusy] = useState(false);
  const deliver = async () => {
    setBusy(true);
    try {
      const { text, run } = tellDelivered(await repoApi.deliverAgain(hook.repo, hook.id, delivery.id));
      toast(text, "good", run ? { label: "Show run", onSelect: () => navigate(runLink(run)) } : undefined);
    } catch (error) {
      toast((error as Error).message, "bad");
    }
    setBusy(false);
  };
  if (!delivery.can_repeat) {
    return <p className="text-muted text-sm">It cannot be delivered again, because its body was not stored.</p>;
  }
  return (
    <Button size="sm" icon={<RotateCw className="size-3.5" />} isBusy={isBusy} onClick={deliver}>
      Deliver again
    </Button>
  );
}

/** What came of a delivery in one sentence, and the run to look at. */
function tellDelivered({ firings, is_ping }: Delivered): { text: string; run: string | null } {
  if (is_ping) return { text: "Delivered a ping", run: null };
  const run = firings.find((firing) => firing.run !== null)?.run ?? null;
  return { text: `Delivered, started ${tellStarted(firings)}`, run };
}

/** "ci", "2 flows", "nothing". */
function tellStarted(firings: readonly FiringInfo[]): string {
  const started = firings.filter(({ run }) => run !== null);
  return started.length > 1 ? `${started.length} flows` : (started[0]?.flow ?? "nothing");
}
