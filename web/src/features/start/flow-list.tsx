import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useRepoFlows } from "@/api/repo-queries";
import type { RepoInfo, StoredFlow } from "@/api/types";
import { shortFile } from "@/core/addresses";
import { classNames } from "@/ui/class-names";
import { SearchInput } from "@/ui/field";

/** A flow that can be started: of a folder, or of a repository. */
export type ChosenFlow = { repo: string | null; flow: string };

type FlowListProps = {
  stored: readonly StoredFlow[];
  repos: readonly RepoInfo[];
  chosen: ChosenFlow | null;
  onChoose: (flow: ChosenFlow) => void;
};

const FEW = 5; // repositories that are open from the beginning

/** The flows of the server's folders, and those of each repository. */
export function FlowList({ stored, repos, chosen, onChoose }: FlowListProps) {
  const [search, setSearch] = useState("");
  const wanted = search.toLowerCase();
  const isWanted = (text: string) => text.toLowerCase().includes(wanted);
  const shown = stored.filter(({ name, file }) => isWanted(`${name} ${file}`));
  return (
    <>
      <div className="p-2">
        <SearchInput label="Search flows" value={search} onText={setSearch} />
      </div>
      <div className="min-h-0 flex-1 space-y-2 overflow-auto px-2 pb-2">
        {repos.map((repo) => (
          <RepoGroup
            key={repo.id}
            repo={repo.id}
            isWanted={isWanted}
            isFirstOpen={repos.length <= FEW || chosen?.repo === repo.id}
            chosen={chosen}
            onChoose={onChoose}
          />
        ))}
        {repos.length > 0 && shown.length > 0 && (
          <h2 className="px-1 font-semibold text-muted text-sm">Flow folders</h2>
        )}
        <ul aria-label="Flows">
          {shown.map(({ name, file, problem }) => (
            <li key={name}>
              <Choice
                name={name}
                caption={shortFile(file)}
                title={problem ?? file}
                hasErrors={problem !== null && problem !== undefined}
                isChosen={chosen?.repo === null && chosen.flow === name}
                onChoose={() => onChoose({ repo: null, flow: name })}
              />
            </li>
          ))}
          {shown.length === 0 && repos.length === 0 && <li className="px-2 text-muted">No matching flows</li>}
        </ul>
      </div>
    </>
  );
}

type RepoGroupProps = {
  repo: string;
  isWanted: (text: string) => boolean;
  isFirstOpen: boolean;
  chosen: ChosenFlow | null;
  onChoose: (flow: ChosenFlow) => void;
};

function RepoGroup({ repo, isWanted, isFirstOpen, chosen, onChoose }: RepoGroupProps) {
  const [isOpen, setOpen] = useState(isFirstOpen);
  const flows = useRepoFlows(repo, isOpen);
  const shown = (flows.data ?? []).filter(({ name, title }) => isWanted(`${repo} ${name} ${title}`));
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <section aria-label={`Flows of ${repo}`}>
      <h2>
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="flex min-h-6 w-full items-center gap-1 rounded-md px-1 font-semibold text-muted text-sm hover:bg-hover"
        >
          <Chevron className="size-3.5 shrink-0" aria-hidden />
          <span className="truncate">{repo}</span>
        </button>
      </h2>
      {isOpen && (
        <ul>
          {shown.map(({ name, title, path, problems }) => (
            <li key={path}>
              <Choice
                name={name}
                caption={title === name ? path : title}
                title={problems[0]?.message ?? path}
                hasErrors={problems.length > 0}
                isChosen={chosen?.repo === repo && chosen.flow === name}
                onChoose={() => onChoose({ repo, flow: name })}
              />
            </li>
          ))}
          {flows.error && <li className="px-2 text-failed text-sm">{flows.error.message}</li>}
          {flows.data && shown.length === 0 && <li className="px-2 text-muted text-sm">No matching flows</li>}
        </ul>
      )}
    </section>
  );
}

type ChoiceProps = {
  name: string;
  caption: ReactNode;
  title: string;
  hasErrors: boolean;
  isChosen: boolean;
  onChoose: () => void;
};

function Choice({ name, caption, title, hasErrors, isChosen, onChoose }: ChoiceProps) {
  return (
    <button
      type="button"
      aria-current={isChosen}
      ref={isChosen ? intoView : undefined}
      title={title}
      onClick={onChoose}
      className={classNames("w-full rounded-md px-2 py-1 text-left", isChosen ? "bg-accent-soft" : "hover:bg-hover")}
    >
      <span className="block truncate font-medium">{name}</span>
      <span className={classNames("block truncate text-sm", hasErrors ? "text-failed" : "text-faint")}>
        {caption}
        {hasErrors && " · errors"}
      </span>
    </button>
  );
}

/** Once, when it is drawn or chosen. */
function intoView(element: HTMLElement | null): void {
  element?.scrollIntoView?.({ block: "nearest" });
}
