import { BookMarked, Plus } from "lucide-react";
import { INGEST } from "@/features/repos/commands";
import { Button } from "@/ui/button";
import { CommandLine } from "@/ui/command-line";

/** What a server without repositories shows: the two ways to the first one. */
export function FirstRepo({ canChange, onCreate }: { canChange: boolean; onCreate: () => void }) {
  return (
    <div className="grid gap-3 p-4 md:grid-cols-2">
      <section aria-labelledby="ingest" className="rounded-lg border border-line p-4">
        <h2 id="ingest" className="flex items-center gap-2 font-semibold text-lg">
          <BookMarked className="size-4.5 text-accent" aria-hidden />
          Ingest a repository
        </h2>
        <p className="mt-1 mb-3 text-muted">
          Run this in a clone of your repository. It pushes every branch and tag to this server; from then on, each push
          starts the flows in <code className="font-mono text-sm">.pitstop/flows</code>.
        </p>
        <CommandLine command={INGEST} />
      </section>
      <section aria-labelledby="create" className="rounded-lg border border-line p-4">
        <h2 id="create" className="flex items-center gap-2 font-semibold text-lg">
          <Plus className="size-4.5 text-accent" aria-hidden />
          Create an empty repository
        </h2>
        <p className="mt-1 mb-3 text-muted">Start from nothing, and push to it when you are ready.</p>
        {canChange && <Button onClick={onCreate}>Create a repository</Button>}
      </section>
    </div>
  );
}
