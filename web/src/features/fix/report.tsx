import { useArtifactText } from "@/api/queries";
import { useRun } from "@/api/run-context";
import { reportParts } from "@/core/report-sections";
import { Loading } from "@/ui/feedback";
import { Fold } from "@/ui/fold";
import { Facts, Section } from "@/ui/panel";
import { PatchText } from "@/ui/patch-text";
import { TickedText } from "@/ui/ticked-text";

type StoredTextProps = {
  path: string;
  /** Another one when the file may have changed. */
  version: number;
  title: string;
  note?: string;
  isPatch?: boolean;
};

const MOST = 200_000; // characters of a patch that are drawn

/** A file that the loop has stored, in a line that opens to its text. */
export function StoredText({ path, version, title, note, isPatch = false }: StoredTextProps) {
  return (
    <div className="rounded-md border border-line">
      <Fold
        look="grid-cols-[auto_minmax(0,1fr)_auto] px-2"
        inside="px-2"
        summary={
          <>
            <span className="min-w-0 text-sm [overflow-wrap:anywhere]">
              {title} <code className="font-mono text-muted">{path}</code>
            </span>
            <span className="text-muted text-sm">{note}</span>
          </>
        }
      >
        <Opened path={path} version={version} isPatch={isPatch} />
      </Fold>
    </div>
  );
}

function Opened({ path, version, isPatch }: { path: string; version: number; isPatch: boolean }) {
  const { run } = useRun("run");
  const { data, error } = useArtifactText(run.id, path, version);
  if (error && data === undefined) return <p className="text-failed">{error.message}</p>;
  if (data === undefined) return <Loading />;
  if (isPatch) return <PatchText text={data.slice(0, MOST)} isCut={data.length > MOST} isWhole />;
  return <Report text={data} />;
}

function Report({ text }: { text: string }) {
  const { facts, sections } = reportParts(text);
  return (
    <div className="space-y-3">
      {facts.length > 0 && <Facts facts={facts} />}
      {sections.map(({ title, text }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two parts may have one title
        <Section key={at} title={title} level={4}>
          {text !== "" && (
            <pre className="whitespace-pre-wrap font-sans [overflow-wrap:anywhere]">
              <TickedText text={text} />
            </pre>
          )}
        </Section>
      ))}
    </div>
  );
}
