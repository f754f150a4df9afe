import type { StoredFlow } from "@/api/types";
import { wordOf } from "@/core/status";
import { SearchInput, Select } from "@/ui/field";
import { StatusIcon } from "@/ui/status-icon";

const STATUSES = ["running", "paused", "failed", "passed", "cancelled"] as const;

export type Filter = { status: readonly string[]; flow: string; search: string };

type RunFiltersProps = { filter: Filter; flows: readonly StoredFlow[]; onChange: (filter: Filter) => void };

export function RunFilters({ filter, flows, onChange }: RunFiltersProps) {
  const toggle = (status: string) =>
    onChange({
      ...filter,
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
        onText={(search) => onChange({ ...filter, search })}
      />
      <Select
        aria-label="Flow"
        className="w-auto! max-w-48"
        value={filter.flow}
        onChange={(event) => onChange({ ...filter, flow: event.target.value })}
      >
        <option value="">All flows</option>
        {flows.map((flow) => (
          <option key={flow.name}>{flow.name}</option>
        ))}
      </Select>
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
