import { useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { useLocation } from "wouter";
import { useCanChange } from "@/api/queries";
import { useRepos } from "@/api/repo-queries";
import { useCommands } from "@/app/commands";
import { usePageTitle } from "@/app/page-title";
import { INGEST } from "@/features/repos/commands";
import { FirstRepo } from "@/features/repos/first-repo";
import { NewRepoDialog } from "@/features/repos/new-repo-dialog";
import { RepoList, RepoListSkeleton } from "@/features/repos/repo-list";
import { Button } from "@/ui/button";
import { CommandLine } from "@/ui/command-line";
import { Empty, Failed, Notice } from "@/ui/feedback";
import { SearchInput } from "@/ui/field";

const MANY = 8; // from which on they are searched

export function ReposPage() {
  usePageTitle("Repositories");
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const repos = useRepos();
  const canChange = useCanChange();
  const [isCreating, setCreating] = useState(false);
  const [search, setSearch] = useState("");
  useCommands(
    useMemo(
      () => [{ id: "new-repo", title: "Create a repository", isPossible: canChange, run: () => setCreating(true) }],
      [canChange],
    ),
  );
  const all = repos.data ?? [];
  const shown = all.filter(({ id, title }) => `${id} ${title}`.toLowerCase().includes(search.toLowerCase()));
  return (
    <div className="h-full overflow-auto">
      <div className="mx-auto max-w-5xl space-y-3 px-4 py-5">
        <div className="flex min-h-7.5 flex-wrap items-center justify-between gap-3">
          <h1 className="font-semibold text-xl">Repositories</h1>
          {all.length > 0 && (
            <div className="flex min-w-0 items-center gap-2">
              <CommandLine label="Add one" command={INGEST} className="hidden w-60 sm:flex" />
              {canChange && (
                <Button icon={<Plus className="size-3.5" />} onClick={() => setCreating(true)}>
                  Create
                </Button>
              )}
            </div>
          )}
        </div>
        {all.length >= MANY && (
          <SearchInput label="Search repositories" className="max-w-64" value={search} onText={setSearch} />
        )}
        <section
          aria-label="Repositories"
          aria-busy={repos.isFetching}
          className="overflow-hidden rounded-lg border border-line bg-surface"
        >
          {repos.error && repos.data && (
            <Notice tone="paused">{repos.error.message} This list may be out of date. Reconnecting…</Notice>
          )}
          {repos.isPending ? (
            <RepoListSkeleton />
          ) : !repos.data ? (
            <Failed error={repos.error} onRetry={() => repos.refetch()} />
          ) : all.length === 0 ? (
            <FirstRepo canChange={canChange} onCreate={() => setCreating(true)} />
          ) : shown.length === 0 ? (
            <Empty title="No matching repositories" />
          ) : (
            <RepoList repos={shown} />
          )}
        </section>
      </div>
      {isCreating && (
        <NewRepoDialog
          onClose={() => setCreating(false)}
          onCreated={({ id }) => {
            void client.invalidateQueries({ queryKey: ["repos"] });
            navigate(`/repos/${id}`);
          }}
        />
      )}
    </div>
  );
}
