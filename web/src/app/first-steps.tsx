import { BookMarked, Bug } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link, useLocation } from "wouter";
import { api } from "@/api/client";
import type { StoredFlow } from "@/api/types";
import { runLink } from "@/core/links";
import { INGEST } from "@/features/repos/commands";
import { Button } from "@/ui/button";
import { CommandLine } from "@/ui/command-line";
import { LinkButton } from "@/ui/link-button";
import { toast } from "@/ui/toast";

/** The example that fails on purpose, among the flows of the server. */
export function brokenExample(flows: readonly StoredFlow[]): StoredFlow | null {
  return flows.find(({ name, problem }) => /(^|\/)broken(\/flow)?$/.test(name) && !problem) ?? null;
}

type FirstStepsProps = { flows: readonly StoredFlow[]; canChange: boolean };

/** What a server without runs shows: two ways to the first one. */
export function FirstSteps({ flows, canChange }: FirstStepsProps) {
  const [, navigate] = useLocation();
  const [isStarting, setStarting] = useState(false);
  const example = brokenExample(flows);
  const start = async (flow: StoredFlow) => {
    setStarting(true);
    try {
      const run = await api.start({ flow: { name: flow.name }, debug: { stop_on_error: true } }, crypto.randomUUID());
      navigate(runLink(run.id));
    } catch (error) {
      toast((error as Error).message, "bad");
      setStarting(false);
    }
  };
  return (
    <div className="grid gap-3 p-4 md:grid-cols-2">
      <Card id="debug-first" icon={<Bug className="size-4.5" aria-hidden />} title="Debug a failing pipeline">
        <p className="mt-1 mb-3 text-muted">
          {example
            ? "Start an example that fails on purpose: it pauses where it fails, so you can look inside, fix it and retry."
            : "Start a flow: it pauses where it fails, so you can look inside, fix it and retry."}
        </p>
        {!canChange ? null : example ? (
          <Button look="primary" isBusy={isStarting} onClick={() => start(example)}>
            Debug {example.name}
          </Button>
        ) : (
          <LinkButton look="primary" href="/new">
            Choose a flow
          </LinkButton>
        )}
      </Card>
      <Card id="ingest-first" icon={<BookMarked className="size-4.5" aria-hidden />} title="Ingest a repository">
        <p className="mt-1 mb-3 text-muted">
          Run this in a clone: it pushes your branches to{" "}
          <Link href="/repos" className="text-accent underline">
            Repositories
          </Link>
          , and from then on each push starts the flows in <code className="font-mono text-sm">.pitstop/flows</code>.
        </p>
        <CommandLine command={INGEST} />
      </Card>
    </div>
  );
}

function Card({ id, icon, title, children }: { id: string; icon: ReactNode; title: string; children: ReactNode }) {
  return (
    <section aria-labelledby={id} className="rounded-lg border border-line p-4">
      <h2 id={id} className="flex items-center gap-2 font-semibold text-lg">
        <span className="text-accent">{icon}</span>
        {title}
      </h2>
      {children}
    </section>
  );
}
