import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { useBranchNames } from "@/api/repo-queries";
import { repoLink } from "@/core/links";
import { Button } from "@/ui/button";
import { Field } from "@/ui/field";
import { SuggestInput } from "@/ui/suggest-input";

type RefFieldProps = {
  repo: string;
  /** What is shown now. */
  value: string;
  problem: string | null;
  onChange: (ref: string) => void;
};

/** The branch, tag or commit that a flow of a repository runs on. */
export function RefField({ repo, value, problem, onChange }: RefFieldProps) {
  const [text, setText] = useState(value);
  const names = useBranchNames(repo);
  const isChanged = text.trim() !== "" && text.trim() !== value;
  const branch = isChanged && names.includes(text) ? text : undefined;
  const choose = useRef(onChange);
  choose.current = onChange;
  useEffect(() => {
    if (branch !== undefined) choose.current(branch); // as soon as it is known, which may be after it was typed
  }, [branch]);
  return (
    <form
      className="mb-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (isChanged) onChange(text.trim());
      }}
    >
      <Field
        label="Branch, tag or commit"
        problem={problem}
        hint={
          <>
            Runs in a fresh checkout of{" "}
            <Link href={repoLink(repo)} className="text-accent underline">
              {repo}
            </Link>
            .
          </>
        }
      >
        {(ids) => (
          <span className="flex gap-1.5">
            <SuggestInput
              {...ids}
              suggestions={names}
              className="font-mono"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
            {isChanged && <Button type="submit">Use</Button>}
          </span>
        )}
      </Field>
    </form>
  );
}
