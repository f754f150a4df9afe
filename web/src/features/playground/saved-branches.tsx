import { Trash2 } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { repoApi } from "@/api/repo-client";
import { useRefreshTrials, useTrialBranches } from "@/api/trial-queries";
import { repoLink } from "@/core/links";
import { shortSha } from "@/core/refs";
import { countWords } from "@/core/words";
import { Ago } from "@/ui/ago";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { Failed, Loading } from "@/ui/feedback";
import { useNow } from "@/ui/hooks";
import { Badge } from "@/ui/status-icon";
import { toast } from "@/ui/toast";

type SavedBranchesProps = { repo: { id: string; default_branch: string }; canChange: boolean };

/** The branches that results were saved to, and a way to delete those that are not needed any more. */
export function SavedBranches({ repo, canChange }: SavedBranchesProps) {
  const branches = useTrialBranches(repo.id);
  const refresh = useRefreshTrials(repo.id);
  const now = useNow(true, 30_000);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isConfirming, setConfirming] = useState(false);
  if (branches.error && !branches.data)
    return <Failed error={branches.error} onRetry={() => void branches.refetch()} />;
  if (!branches.data) return <Loading label="Loading the branches" />;
  const all = branches.data;
  if (all.length === 0) return <p className="text-muted text-sm">Results that you save appear here.</p>;
  const chosen = all.filter(({ name }) => selected.has(name));
  const merged = all.filter(({ is_merged }) => is_merged);
  const areMergedChosen = merged.every(({ name }) => selected.has(name));
  const toggle = (name: string, isOn: boolean) =>
    setSelected(new Set(isOn ? [...selected, name] : [...selected].filter((each) => each !== name)));
  const remove = async () => {
    try {
      await repoApi.deleteBranches(repo.id, Object.fromEntries(chosen.map(({ name, commit }) => [name, commit.sha])));
      setSelected(new Set());
      toast(`Deleted ${countWords(chosen.length, "branch", "branches")}`, "good");
    } catch (error) {
      toast((error as Error).message, "bad");
    }
    await refresh();
  };
  return (
    <div className="space-y-2">
      {canChange && (
        <div className="flex flex-wrap gap-1">
          {merged.length > 0 && (
            <Button
              size="sm"
              onClick={() => setSelected(areMergedChosen ? new Set() : new Set(merged.map(({ name }) => name)))}
            >
              {areMergedChosen ? "Clear selection" : `Select merged (${merged.length})`}
            </Button>
          )}
          <Button
            size="sm"
            look="danger"
            icon={<Trash2 className="size-3.5" />}
            disabled={chosen.length === 0}
            onClick={() => setConfirming(true)}
          >
            {chosen.length === 0 ? "Delete selected…" : `Delete ${countWords(chosen.length, "branch", "branches")}…`}
          </Button>
        </div>
      )}
      <ul aria-label="Saved branches" className="divide-y divide-line rounded-lg border border-line bg-surface">
        {all.map(({ name, commit, is_merged }) => (
          <li key={name} className="flex min-h-8 items-center gap-2 px-3 py-1">
            {canChange && (
              <input
                type="checkbox"
                aria-label={`Select ${name}`}
                checked={selected.has(name)}
                onChange={(event) => toggle(name, event.target.checked)}
                className="size-3.5 shrink-0 accent-(--accent)"
              />
            )}
            <Link
              href={repoLink(repo.id, { tab: "code", ref: name })}
              className="min-h-6 min-w-0 truncate font-mono text-sm leading-6 hover:underline"
            >
              {name}
            </Link>
            {is_merged && <Badge tone="passed">merged</Badge>}
            <span className="flex-1" />
            <code className="font-mono text-muted text-xs">{shortSha(commit.sha)}</code>
            <span className="shrink-0 text-muted text-sm">
              <Ago at={commit.at} now={now} />
            </span>
          </li>
        ))}
      </ul>
      <Confirm
        title={`Delete ${countWords(chosen.length, "branch", "branches")}?`}
        text={
          <>
            <p>{lossOf(chosen, repo.default_branch)}</p>
            <ul className="mt-2 max-h-40 overflow-auto font-mono text-sm text-text">
              {chosen.map(({ name }) => (
                <li key={name}>{name}</li>
              ))}
            </ul>
          </>
        }
        action="Delete"
        isOpen={isConfirming}
        onClose={() => setConfirming(false)}
        onConfirm={() => void remove()}
      />
    </div>
  );
}

function lossOf(chosen: readonly { is_merged: boolean }[], base: string): string {
  const unmerged = chosen.filter(({ is_merged }) => !is_merged).length;
  return unmerged === 0
    ? `All their commits are in ${base}.`
    : `${countWords(unmerged, "branch is", "branches are")} not merged into ${base}: the changes exist nowhere else once the trial is deleted.`;
}
