import { patchIn } from "@/core/call-input";
import { CodeText } from "@/ui/json-text";
import { PatchText } from "@/ui/patch-text";

type CallInputProps = {
  input: Readonly<Record<string, unknown>>;
  command: string | null;
  paths?: readonly string[];
};

/** What a call is given: a command or the files that it is about first, then the rest by name. */
export function CallInput({ input, command, paths = [] }: CallInputProps) {
  const told = new Set<unknown>([command, ...paths]);
  const patch = patchIn(input);
  const rest = Object.entries(input).filter(([name, value]) => !told.has(value) && !patch?.fields.includes(name));
  return (
    <div className="space-y-1.5">
      {command !== null && <CodeText value={command} />}
      {paths.length > 0 && <p className="break-all font-mono text-sm">{paths.join("\n")}</p>}
      {patch && <PatchText text={patch.lines} isWhole />}
      {rest.map(([name, value]) => (
        <div key={name}>
          <p className="text-muted text-sm">{name.replaceAll("_", " ")}</p>
          <CodeText value={value} />
        </div>
      ))}
      {command === null && paths.length === 0 && !patch && rest.length === 0 && (
        <p className="text-muted text-sm">No input.</p>
      )}
    </div>
  );
}
