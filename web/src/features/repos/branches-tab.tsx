import { GitBranch, Lock, LockOpen, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { repoApi } from "@/api/repo-client";
import { useBranches } from "@/api/repo-queries";
import type { Branch, RepoInfo } from "@/api/types";
import { repoLink, runsLink } from "@/core/links";
import { isMerged, shortSha } from "@/core/refs";
import { EmptyRepo } from "@/features/repos/empty-repo";
import { useChange } from "@/features/repos/use-change";
import { Ago } from "@/ui/ago";
import { Button, IconButton } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { Confirm } from "@/ui/dialog";
import { Failed, Loading } from "@/ui/feedback";
import { useNow } from "@/ui/hooks";
import { LinkButton } from "@/ui/link-button";
import { Badge } from "@/ui/status-icon";
import { toast } from "@/ui/toast";

type BranchesTabProps = { repo: RepoInfo; canChange: boolean };

/** The branches, how far each is from the default one, and those that are merged and can go. */
export function BranchesTab({ repo, canChange }: BranchesTabProps) {
  const branches = useBranches(repo.id);
  const now = useNow(true, 30_000);
  const change = useChange(repo.id);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isConfirming, setConfirming] = useState(false);
  if (branches.error && !branches.data) return <Failed error={branches.error} onRetry={() => branches.refetch()} />;
  if (!branches.data) return <Loading label="Loading branches" />;
  const all = branches.data.pages.flatMap((page) => page.branches);
  if (all.length === 0) return <EmptyRepo repo={repo.id} branch={repo.default_branch} />;
  const merged = all.filter((branch) => isMerged(branch, repo));
  const chosen = merged.filter(({ name }) => selected.has(name)); // others were deleted, or moved ahead meanwhile
  const toggle = (name: string, isOn: boolean) =>
    setSelected(new Set(isOn ? [...selected, name] : [...selected].filter((each) => each !== name)));
  const remove = async () => {
    const expected = Object.fromEntries(chosen.map(({ name, commit }) => [name, commit.sha]));
    if (!(await change(() => repoApi.deleteBranches(repo.id, expected)))) return;
    setSelected(new Set());
    toast(chosen.length === 1 ? `Deleted ${chosen[0]?.name}` : `Deleted ${chosen.length} branches`, "good");
  };
  const protect = (name: string, isOn: boolean) =>
    change(() =>
      repoApi.update(repo.id, {
        protected: isOn ? [...repo.protected, name] : repo.protected.filter((each) => each !== name),
      }),
    );
  return (
    <div className="space-y-3">
      {canChange && merged.length > 0 && (
        <div className="flex flex-wrap items-center gap-2">
          <Button
            onClick={() =>
              setSelected(chosen.length === merged.length ? new Set() : new Set(merged.map(({ name }) => name)))
            }
          >
            {chosen.length === merged.length ? "Clear selection" : `Select merged (${merged.length})`}
          </Button>
          <Button
            look="danger"
            icon={<Trash2 className="size-3.5" />}
            disabled={chosen.length === 0}
            onClick={() => setConfirming(true)}
          >
            {chosen.length === 0
              ? "Delete selected…"
              : `Delete ${chosen.length === 1 ? "1 branch" : `${chosen.length} branches`}…`}
          </Button>
        </div>
      )}
      <ul aria-label="Branches" className="divide-y divide-line rounded-lg border border-line bg-surface">
        {all.map((branch) => (
          <li key={branch.name}>
            <Row
              repo={repo}
              branch={branch}
              now={now}
              canChange={canChange}
              isSelected={selected.has(branch.name)}
              onSelect={(isOn) => toggle(branch.name, isOn)}
              onProtect={(isOn) => void protect(branch.name, isOn)}
            />
          </li>
        ))}
      </ul>
      {branches.hasNextPage && (
        <div className="text-center">
          <Button isBusy={branches.isFetchingNextPage} onClick={() => branches.fetchNextPage()}>
            Show more branches
          </Button>
        </div>
      )}
      <Confirm
        title={chosen.length === 1 ? "Delete this branch?" : `Delete ${chosen.length} branches?`}
        text={
          <>
            <p>All their commits are in {repo.default_branch}. A branch that has moved meanwhile is not deleted.</p>
            <ul className="mt-2 max-h-40 overflow-auto font-mono text-sm text-text">
              {chosen.map(({ name }) => (
                <li key={name}>{name}</li>
              ))}
            </ul>
          </>
        }
        action={chosen.length === 1 ? "Delete branch" : "Delete branches"}
        isOpen={isConfirming}
        onClose={() => setConfirming(false)}
        onConfirm={() => void remove()}
      />
    </div>
  );
}

type RowProps = {
  repo: RepoInfo;
  branch: Branch;
  now: number;
  canChange: boolean;
  isSelected: boolean;
  onSelect: (isOn: boolean) => void;
  onProtect: (isOn: boolean) => void;
};

function Row({ repo, branch, now, canChange, isSelected, onSelect, onProtect }: RowProps) {
  const { name, commit } = branch;
  const isDefault = name === repo.default_branch;
  const isProtected = repo.protected.includes(name);
  const canDelete = isMerged(branch, repo);
  return (
    <div
      className={classNames(
        "grid items-center gap-x-3 px-4 py-2",
        canChange ? "grid-cols-[1rem_minmax(0,1fr)_auto]" : "grid-cols-[minmax(0,1fr)_auto]",
      )}
    >
      {canChange &&
        (canDelete ? (
          <input
            type="checkbox"
            aria-label={`Select ${name}`}
            checked={isSelected}
            onChange={(event) => onSelect(event.target.checked)}
            className="size-3.5 accent-(--accent)"
          />
        ) : (
          <GitBranch className="size-3.5 text-faint" aria-hidden />
        ))}
      <span className="min-w-0">
        <span className="flex flex-wrap items-center gap-x-2">
          <Link href={repoLink(repo.id, { tab: "code", ref: name })} className="truncate font-medium hover:underline">
            {name}
          </Link>
          {isDefault && <Badge>default</Badge>}
          {isProtected && (
            <Badge title="Only a merge by Pitstop may change it">
              <Lock className="size-3" aria-hidden />
              protected
            </Badge>
          )}
          {canDelete && <Badge tone="passed">merged</Badge>}
          {!isDefault && <Distance branch={branch} base={repo.default_branch} />}
        </span>
        <span className="block truncate text-muted text-sm">
          <span className="font-mono">{shortSha(commit.sha)}</span> · {commit.subject} · {commit.author} ·{" "}
          <Ago at={commit.at} now={now} />
        </span>
      </span>
      <span className="flex items-center gap-1">
        <LinkButton size="sm" look="quiet" href={runsLink({ repo: repo.id, ref: name })} label={`Runs of ${name}`}>
          Runs
        </LinkButton>
        {canChange && (
          <IconButton
            size="sm"
            label={isProtected ? `Unprotect ${name}` : `Protect ${name}`}
            hint={isProtected ? null : "so that only a merge by Pitstop may change it"}
            isPressed={isProtected}
            onClick={() => onProtect(!isProtected)}
          >
            {isProtected ? <Lock className="size-3.5" /> : <LockOpen className="size-3.5" />}
          </IconButton>
        )}
      </span>
    </div>
  );
}

function Distance({ branch: { ahead, behind }, base }: { branch: Branch; base: string }) {
  if (ahead === null || behind === null) return null;
  return (
    <span
      className="whitespace-nowrap text-muted text-sm tabular"
      title={`${ahead} ahead of ${base}, ${behind} behind`}
    >
      {ahead} ahead, {behind} behind
    </span>
  );
}
