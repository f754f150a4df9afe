import { useState } from "react";
import { repoApi } from "@/api/repo-client";
import type { RepoInfo } from "@/api/types";
import { problemOfRepoName, REPO_NAME_RULE } from "@/core/repo-names";
import { TextField } from "@/ui/field";
import { FormDialog } from "@/ui/form-dialog";

type NewRepoDialogProps = { onCreated: (repo: RepoInfo) => void; onClose: () => void };

/** An empty repository: its name, checked while it is typed, and its default branch. */
export function NewRepoDialog({ onCreated, onClose }: NewRepoDialogProps) {
  const [name, setName] = useState("");
  const [branch, setBranch] = useState("main");
  const [isTried, setTried] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const problem = name !== "" || isTried ? problemOfRepoName(name) : null;
  const create = async () => {
    setTried(true);
    if (problemOfRepoName(name) !== null) return;
    setBusy(true);
    try {
      onCreated(await repoApi.create({ name, default_branch: branch.trim() || "main" }));
    } catch (error) {
      setRefusal((error as Error).message);
      setBusy(false);
    }
  };
  return (
    <FormDialog
      title="Create an empty repository"
      action="Create repository"
      isBusy={isBusy}
      onSubmit={() => void create()}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint={REPO_NAME_RULE}
        problem={problem ?? refusal}
        isRequired
        autoFocus
        placeholder="shop"
        value={name}
        onText={(text) => {
          setName(text);
          setRefusal(null);
        }}
      />
      <TextField
        label="Default branch"
        hint="Schedules and webhooks run the flows on this branch."
        value={branch}
        onText={setBranch}
      />
    </FormDialog>
  );
}
