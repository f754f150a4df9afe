import { cloneCommand, remoteCommands } from "@/features/repos/commands";
import { CommandLine } from "@/ui/command-line";

/** What a repository without commits shows: how to push the first one. */
export function EmptyRepo({ repo, branch }: { repo: string; branch: string }) {
  return (
    <div className="max-w-2xl space-y-5 py-3">
      <div>
        <h2 className="font-semibold text-lg">Nothing has been pushed yet</h2>
        <p className="text-muted">This page updates as soon as you push.</p>
      </div>
      <section className="space-y-1.5">
        <h3 className="font-medium">Push an existing repository</h3>
        {remoteCommands(repo, branch).map((command) => (
          <CommandLine key={command} command={command} />
        ))}
      </section>
      <section className="space-y-1.5">
        <h3 className="font-medium">Or clone this one and begin there</h3>
        <CommandLine command={cloneCommand(repo)} />
        <p className="text-muted text-sm">
          Without the first command above, git asks for a password: enter any user name, and a token from{" "}
          <code className="font-mono">pitstop tokens</code>.
        </p>
      </section>
    </div>
  );
}
