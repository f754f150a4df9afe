import { useBranchNames } from "@/api/repo-queries";
import { Select } from "@/ui/field";

type RefSelectProps = { repo: string; label: string; value: string; onChange: (ref: string) => void };

/** One of the branches; a tag or a commit that a link has chosen is offered as well. */
export function RefSelect({ repo, label, value, onChange }: RefSelectProps) {
  const names = useBranchNames(repo);
  return (
    <Select
      aria-label={label}
      className="w-auto! max-w-64"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {!names.includes(value) && (
        <option value={value}>{/^[0-9a-f]{40}/.test(value) ? value.slice(0, 7) : value}</option>
      )}
      {names.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </Select>
  );
}
