import type { BoardFilter } from "@/api/card-client";
import { SearchInput, Select } from "@/ui/field";

type BoardFiltersProps = {
  filter: Required<BoardFilter>;
  labels: readonly string[];
  profiles: readonly string[];
  onChange: (changes: BoardFilter) => void;
};

/** Which cards are shown: by their text, their label and their agent. */
export function BoardFilters({ filter, labels, profiles, onChange }: BoardFiltersProps) {
  return (
    <search className="order-last flex min-w-0 basis-full items-center gap-2 sm:order-none sm:flex-1 sm:basis-auto">
      <SearchInput
        label="Filter cards"
        className="max-w-56"
        value={filter.search}
        onText={(search) => onChange({ search })}
      />
      <OneOf
        label="Label"
        all="All labels"
        names={labels}
        value={filter.label}
        onChange={(label) => onChange({ label })}
      />
      <OneOf
        label="Agent"
        all="All agents"
        names={profiles}
        value={filter.profile}
        onChange={(profile) => onChange({ profile })}
      />
    </search>
  );
}

type OneOfProps = {
  label: string;
  all: string;
  names: readonly string[];
  value: string;
  onChange: (name: string) => void;
};

/** One name, or all. Without any name there is nothing to choose; one from a link is offered even if it is unknown. */
function OneOf({ label, all, names, value, onChange }: OneOfProps) {
  const offered = value === "" || names.includes(value) ? names : [value, ...names];
  if (offered.length === 0) return null;
  return (
    <Select
      aria-label={label}
      className="w-auto! min-w-0 max-w-40"
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
