import type { AttemptInfo } from "@/api/types";
import { ALL, type ShownRange } from "@/features/card/diff-range";
import { Select } from "@/ui/field";

type RangeSelectProps = {
  range: ShownRange;
  attempts: readonly AttemptInfo[];
  onChange: (range: ShownRange) => void;
};

/** Which changes are shown: all, those of one attempt, or what differs between two. */
export function RangeSelect({ range, attempts, onChange }: RangeSelectProps) {
  const shown = range.kind === "attempt" ? [range.attempt] : range.kind === "between" ? [range.from, range.to] : [];
  const numbers = attempts.filter(({ number, to_sha }) => to_sha !== null || shown.includes(number)).map(numberOf);
  const all = [...new Set([...numbers, ...shown.filter((number) => number > 0)])].sort((one, other) => one - other);
  const last = all.at(-1);
  if (last === undefined) return null;
  const choose = (value: string) => {
    if (value === "all") onChange(ALL);
    else if (value === "between") onChange({ kind: "between", from: all.at(-2) ?? 0, to: last });
    else onChange({ kind: "attempt", attempt: Number(value) });
  };
  return (
    <span className="flex flex-wrap items-center gap-1.5 text-sm">
      <Select
        aria-label="Changes to show"
        className="w-auto!"
        value={range.kind === "attempt" ? range.attempt : range.kind}
        onChange={(event) => choose(event.target.value)}
      >
        <option value="all">All changes</option>
        {all.map((number) => (
          <option key={number} value={number}>
            Changes of attempt {number}
          </option>
        ))}
        <option value="between">Compare attempts</option>
      </Select>
      {range.kind === "between" && (
        <>
          <span className="text-muted">from</span>
          <Select
            aria-label="Compare from"
            className="w-auto!"
            value={range.from}
            onChange={(event) => onChange({ ...range, from: Number(event.target.value) })}
          >
            <option value={0}>the base</option>
            {all.map((number) => (
              <option key={number} value={number}>
                attempt {number}
              </option>
            ))}
          </Select>
          <span className="text-muted">to</span>
          <Select
            aria-label="Compare to"
            className="w-auto!"
            value={range.to}
            onChange={(event) => onChange({ ...range, to: Number(event.target.value) })}
          >
            {all.map((number) => (
              <option key={number} value={number}>
                attempt {number}
              </option>
            ))}
          </Select>
        </>
      )}
    </span>
  );
}

const numberOf = ({ number }: AttemptInfo) => number;
