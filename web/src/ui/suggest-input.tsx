import { type ComponentProps, useId } from "react";
import { TextInput } from "@/ui/field";

type SuggestInputProps = Omit<ComponentProps<"input">, "list"> & { suggestions: readonly string[] };

/** A text field that suggests values, and takes any other. */
export function SuggestInput({ suggestions, ...rest }: SuggestInputProps) {
  const list = useId();
  return (
    <>
      <TextInput {...rest} list={list} />
      <datalist id={list}>
        {suggestions.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
    </>
  );
}
