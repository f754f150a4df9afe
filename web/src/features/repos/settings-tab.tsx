import { useState } from "react";
import { repoApi } from "@/api/repo-client";
import type { RepoInfo } from "@/api/types";
import { useChange } from "@/features/repos/use-change";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";
import { FormDialog } from "@/ui/form-dialog";
import { toast } from "@/ui/toast";

type SettingsTabProps = { repo: RepoInfo; canChange: boolean; onDeleted: () => void };

/** What is set for a repository, and the way to delete it. */
export function SettingsTab({ repo, canChange, onDeleted }: SettingsTabProps) {
  return (
    <div className="max-w-2xl space-y-6">
      <Settings key={settingsKey(repo)} repo={repo} canChange={canChange} />
      {canChange && <Deletion repo={repo.id} onDeleted={onDeleted} />}
    </div>
  );
}

/** Another one for other settings: a form that someone else has changed shows what is set now. */
function settingsKey({ title, default_branch, remote_url, protected: names, test }: RepoInfo): string {
  return JSON.stringify([title, default_branch, remote_url, names, test]);
}

function Settings({ repo, canChange }: { repo: RepoInfo; canChange: boolean }) {
  const [title, setTitle] = useState(repo.title);
  const [branch, setBranch] = useState(repo.default_branch);
  const [remote, setRemote] = useState(repo.remote_url ?? "");
  const [names, setNames] = useState(repo.protected.join(", "));
  const [test, setTest] = useState(repo.test);
  const [isBusy, setBusy] = useState(false);
  const change = useChange(repo.id);
  const wanted = {
    title: title.trim(),
    default_branch: branch.trim(),
    remote_url: remote.trim(),
    protected: namesIn(names),
    test: test.trim(),
  };
  const isChanged =
    wanted.title !== repo.title ||
    wanted.default_branch !== repo.default_branch ||
    wanted.remote_url !== (repo.remote_url ?? "") ||
    wanted.protected.join() !== repo.protected.join() ||
    wanted.test !== repo.test;
  const save = async () => {
    setBusy(true);
    if (await change(() => repoApi.update(repo.id, wanted))) toast("Settings saved", "good");
    setBusy(false);
  };
  return (
    <form
      aria-label="Settings"
      className="space-y-4 rounded-lg border border-line bg-surface p-4"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <TextField label="Title" disabled={!canChange} value={title} onText={setTitle} />
      <TextField
        label="Default branch"
        hint="Schedules and webhooks run the flows on this branch."
        disabled={!canChange}
        value={branch}
        onText={setBranch}
      />
      <TextField
        label="Remote URL"
        hint={
          <>
            Where <code className="font-mono">pitstop land</code> pushes finished branches, with your own git
            credentials. Leave out user name and password.
          </>
        }
        disabled={!canChange}
        placeholder="https://github.com/example/shop.git"
        value={remote}
        onText={setRemote}
      />
      <TextField
        label="Protected branches"
        hint="Names, separated by commas. Pushes to them are refused; only a merge by Pitstop may change them."
        disabled={!canChange}
        placeholder="main, release"
        value={names}
        onText={setNames}
      />
      <TextField
        label="Test command"
        hint={
          <>
            Runs after an agent has worked on a card. Leave it empty to find one (pytest, npm test, go test, cargo test
            or make test), or write <code className="font-mono">none</code>.
          </>
        }
        disabled={!canChange}
        placeholder="make test"
        value={test}
        onText={setTest}
      />
      {canChange && (
        <Button
          type="submit"
          look="primary"
          isBusy={isBusy}
          disabled={!isChanged || wanted.title === "" || wanted.default_branch === ""}
        >
          Save settings
        </Button>
      )}
    </form>
  );
}

function namesIn(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name, at, all) => name !== "" && all.indexOf(name) === at);
}

function Deletion({ repo, onDeleted }: { repo: string; onDeleted: () => void }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section aria-labelledby="delete-repo" className="rounded-lg border border-line bg-surface p-4">
      <h2 id="delete-repo" className="font-semibold">
        Delete this repository
      </h2>
      <p className="mt-1 mb-3 text-muted">Deletes its branches, tags and settings. Its runs are kept.</p>
      <Button look="danger" onClick={() => setOpen(true)}>
        Delete repository…
      </Button>
      {isOpen && <DeleteDialog repo={repo} onDeleted={onDeleted} onClose={() => setOpen(false)} />}
    </section>
  );
}

type DeleteDialogProps = { repo: string; onDeleted: () => void; onClose: () => void };

function DeleteDialog({ repo, onDeleted, onClose }: DeleteDialogProps) {
  const [text, setText] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const remove = async () => {
    if (text !== repo) return;
    setBusy(true);
    try {
      await repoApi.remove(repo);
      onDeleted();
    } catch (error) {
      setProblem((error as Error).message);
      setBusy(false);
    }
  };
  return (
    <FormDialog
      title={`Delete ${repo}?`}
      action="Delete repository"
      look="danger"
      isBlocked={text !== repo}
      isBusy={isBusy}
      onSubmit={() => void remove()}
      onClose={onClose}
    >
      <p className="text-muted">This cannot be undone. Commits that exist nowhere else are lost.</p>
      <TextField label={`Type ${repo} to confirm`} problem={problem} autoFocus value={text} onText={setText} />
    </FormDialog>
  );
}
