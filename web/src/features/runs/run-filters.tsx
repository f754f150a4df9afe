import type { RunFilter } from "@/api/queries";
import { wordOf } from "@/core/status";
import { SearchInput, Select } from "@/ui/field";
import { StatusIcon } from "@/ui/status-icon";

const STATUSES = ["running", "paused", "failed", "passed", "cancelled"] as const;

/** What can be chosen: names of flows, repositories and branches. */
export type FilterChoices = { flows: readonly string[]; repos: readonly string[]; refs: readonly string[] };

type RunFiltersProps = {
  filter: Required<RunFilter>;
  choices: FilterChoices;
  onChange: (changes: Partial<RunFilter>) => void;
};

export function RunFilters({ filter, choices, onChange }: RunFiltersProps) {
  const toggle = (status: string) =>
    onChange({
      status: filter.status.includes(status)
        ? filter.status.filter((each) => each !== status)
        : [...filter.status, status],
    });
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchInput
        label="Search runs"
        placeholder="Search by ID, flow or file"
        className="max-w-64"
        value={filter.search}
        onText={(search) => onChange({ search })}
      />
      {(choices.repos.length > 0 || filter.repo !== "") && (
        <OneOf
          label="Repository"
          all="All repositories"
          names={choices.repos}
          value={filter.repo}
          onChange={(repo) => onChange({ repo, ref: "", flow: "" })}
        />
      )}
      {filter.repo !== "" && (
        <OneOf
          label="Branch"
          all="All branches"
          names={choices.refs}
          value={filter.ref}
          onChange={(ref) => onChange({ ref })}
        />
      )}
      <OneOf
        label="Flow"
        all="All flows"
        names={choices.flows}
        value={filter.flow}
        onChange={(flow) => onChange({ flow })}
      />
      <div role="group" aria-label="Status" className="flex flex-wrap gap-1">
        {STATUSES.map((status) => (
          <button
            key={status}
            type="button"
            aria-pressed={filter.status.includes(status)}
            onClick={() => toggle(status)}
            className="flex h-7 items-center gap-1.5 rounded-md border border-line px-2 text-muted text-sm hover:bg-hover aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-text"
          >
            <StatusIcon status={status} className="size-3.5 animate-none!" />
            {wordOf(status)}
          </button>
        ))}
      </div>
    </div>
  );
}

type OneOfProps = {
  label: string;
  all: string;
  names: readonly string[];
  value: string;
  onChange: (name: string) => void;
};

/** One name, or all; one that a link has chosen is offered even if it is not known. */
function OneOf({ label, all, names, value, onChange }: OneOfProps) {
  const offered = value === "" || names.includes(value) ? names : [value, ...names];
  return (
    <Select
      aria-label={label}
      className="w-auto! max-w-48"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{all}</option>
      {offered.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </Select>
  );
}
