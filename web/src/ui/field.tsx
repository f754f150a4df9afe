import { type ComponentProps, type ReactNode, useId } from "react";
import { classNames } from "@/ui/class-names";

export const INPUT =
  "w-full rounded-md border border-line-strong bg-surface px-2 text-base text-text placeholder:text-faint focus-visible:border-accent focus-visible:outline-1 focus-visible:outline-offset-0 disabled:opacity-50 aria-invalid:border-failed";

type LabelProps = { label: string; hint?: ReactNode; problem?: string | null; isRequired?: boolean };
type FieldProps = LabelProps & {
  children: (ids: { id: string; "aria-describedby"?: string; "aria-invalid"?: boolean }) => ReactNode;
};

/** A label, what is put in, a hint below it, and what is wrong with it. */
export function Field({ label, hint, problem, isRequired, children }: FieldProps) {
  const id = useId();
  const told = hint || problem ? `${id}-hint` : undefined;
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium text-sm">
        {label}
        {isRequired && <span className="text-failed"> *</span>}
      </label>
      {children({ id, "aria-describedby": told, "aria-invalid": problem ? true : undefined })}
      {told && (
        <p id={told} className={classNames("text-sm", problem ? "text-failed" : "text-muted")}>
          {problem || hint}
        </p>
      )}
    </div>
  );
}

type TextFieldProps = LabelProps & Omit<ComponentProps<"input">, "onChange"> & { onText: (text: string) => void };

/** A field of one line of text. */
export function TextField({ label, hint, problem, isRequired, onText, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} problem={problem} isRequired={isRequired}>
      {(ids) => <TextInput {...ids} {...rest} onChange={(event) => onText(event.target.value)} />}
    </Field>
  );
}

type SearchInputProps = Omit<ComponentProps<"input">, "onChange"> & { label: string; onText: (text: string) => void };

/** Where a text is looked for; the key `/` leads to the first one that is to be seen. */
export function SearchInput({ label, placeholder = label, onText, ...rest }: SearchInputProps) {
  return (
    <TextInput
      {...rest}
      type="search"
      data-search
      aria-label={label}
      placeholder={placeholder}
      onChange={(event) => onText(event.target.value)}
    />
  );
}

export function TextInput({ className, ...rest }: ComponentProps<"input">) {
  return (
    <input
      type="text"
      autoComplete="off"
      spellCheck={false}
      {...rest}
      className={classNames(INPUT, "h-7.5", className)}
    />
  );
}

export function TextArea({ className, ...rest }: ComponentProps<"textarea">) {
  return <textarea spellCheck={false} {...rest} className={classNames(INPUT, "py-1.5 font-mono text-sm", className)} />;
}

export function Select({ className, children, ...rest }: ComponentProps<"select">) {
  return (
    <select {...rest} className={classNames(INPUT, "h-7.5 pr-6", className)}>
      {children}
    </select>
  );
}

export function Checkbox({ label, hint, ...rest }: ComponentProps<"input"> & { label: string; hint?: string }) {
  return (
    <label className="flex cursor-pointer items-start gap-2">
      <input type="checkbox" {...rest} className="mt-0.75 size-3.5 accent-(--accent)" />
      <span>
        {label}
        {hint && <span className="block text-muted text-sm">{hint}</span>}
      </span>
    </label>
  );
}
