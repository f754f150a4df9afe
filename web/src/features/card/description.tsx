import type { ReactNode } from "react";
import { Link } from "wouter";
import type { CardInfo } from "@/api/types";
import { repoLink, runLink } from "@/core/links";
import { shortSha } from "@/core/refs";
import { formatMoment } from "@/core/time";
import { Facts } from "@/ui/panel";

/** What is to be done: text as it was written, never markup. */
export function Description({ text }: { text: string }) {
  return (
    <section aria-label="Description" className="rounded-lg border border-line bg-surface px-4 py-3">
      {text.trim() === "" ? (
        <p className="text-muted">No description.</p>
      ) : (
        <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{text}</p>
      )}
    </section>
  );
}

/** What does the work, how it is tested, and what has become of it. */
export function WorkFacts({ card }: { card: CardInfo }) {
  const { repo, work_details: work, test, merged_sha, landed_at, base_sha, judges } = card;
  return (
    <section aria-labelledby="work" className="rounded-lg border border-line bg-surface px-4 py-3">
      <h2 id="work" className="mb-1.5 font-semibold">
        Work
      </h2>
      <Facts
        facts={[
          ["Agent", work.agent],
          ["Runs on", work.cli],
          ["Model", work.model],
          ["Budget", limitWords(work.budget)],
          ["Instructions", work.prompt && <Text>{work.prompt}</Text>],
          ["Script", work.run && <Code>{work.run}</Code>],
          [
            "Flow",
            work.flow && (
              <Link href={repoLink(repo)} className="text-accent underline">
                {work.flow}
              </Link>
            ),
          ],
          ["Inputs", hasAny(work.inputs) && <Code>{JSON.stringify(work.inputs, null, 2)}</Code>],
          ["Image", work.image && <Code>{work.image}</Code>],
          ["Done by", card.work === "none" && "people"],
          ["Test", card.work === "agent" && (test ? <Code>{test}</Code> : "no test command found")],
          ["Began at", base_sha && <Code>{shortSha(base_sha)}</Code>],
          ["Merged", merged_sha && <Commit repo={repo} sha={merged_sha} />],
          ["Landed", landed_at !== null && formatMoment(landed_at)],
          ["Judged by", judges.length > 0 && <Judges runs={judges} />],
        ]}
      />
    </section>
  );
}

/** The runs that judge the card and have not ended. */
function Judges({ runs }: { runs: readonly string[] }) {
  return (
    <ul>
      {runs.map((run) => (
        <li key={run}>
          <Link href={runLink(run)} className="font-mono text-accent text-sm underline [overflow-wrap:anywhere]">
            {run}
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Commit({ repo, sha }: { repo: string; sha: string }) {
  return (
    <Link href={repoLink(repo, { tab: "code", ref: sha, view: "commits" })} className="font-mono text-accent underline">
      {shortSha(sha)}
    </Link>
  );
}

function Text({ children }: { children: string }) {
  return <span className="whitespace-pre-wrap [overflow-wrap:anywhere]">{children}</span>;
}

function Code({ children }: { children: ReactNode }) {
  return <code className="whitespace-pre-wrap font-mono text-sm [overflow-wrap:anywhere]">{children}</code>;
}

function hasAny(values: Readonly<Record<string, unknown>> | undefined): boolean {
  return values !== undefined && Object.keys(values).length > 0;
}

/** "cost 2, time 20m". */
function limitWords(budget: Readonly<Record<string, unknown>> | undefined): string {
  return Object.entries(budget ?? {})
    .map(([name, limit]) => `${name} ${String(limit)}`)
    .join(", ");
}
