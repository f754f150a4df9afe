import type { FormField } from "@/core/schema-form";
import { Checkbox, Field, Select, TextArea, TextInput } from "@/ui/field";

type SchemaFieldProps = { field: FormField; value: string; problem?: string; onChange: (value: string) => void };

/** One field of a form that a schema asks for. */
function SchemaField({ field, value, problem, onChange }: SchemaFieldProps) {
  if (field.kind === "switch") {
    return (
      <Checkbox
        label={field.label}
        hint={field.hint}
        checked={value === "true"}
        onChange={(event) => onChange(String(event.target.checked))}
      />
    );
  }
  return (
    <Field label={field.label} hint={field.hint} problem={problem} isRequired={field.isRequired}>
      {(ids) => {
        switch (field.kind) {
          case "choice":
            return (
              <Select {...ids} value={value} onChange={(event) => onChange(event.target.value)}>
                {!field.isRequired && <option value="" />}
                {field.choices.map((choice) => (
                  <option key={choice}>{choice}</option>
                ))}
              </Select>
            );
          case "long":
            return <TextArea {...ids} rows={4} value={value} onChange={(event) => onChange(event.target.value)} />;
          case "json":
            return (
              <TextArea
                {...ids}
                rows={2}
                placeholder="JSON"
                value={value}
                onChange={(event) => onChange(event.target.value)}
              />
            );
          case "number":
            return (
              <TextInput
                {...ids}
                inputMode="decimal"
                value={value}
                onChange={(event) => onChange(event.target.value)}
              />
            );
          case "secret":
            return (
              <TextInput
                {...ids}
                type="password"
                autoComplete="new-password"
                value={value}
                onChange={(event) => onChange(event.target.value)}
              />
            );
          case "text":
            return <TextInput {...ids} value={value} onChange={(event) => onChange(event.target.value)} />;
        }
      }}
    </Field>
  );
}

type SchemaFieldsProps = {
  fields: readonly FormField[];
  texts: Readonly<Record<string, string>>;
  /** What is wrong with each; none before the user submits it. */
  problems: Readonly<Record<string, string>>;
  onChange: (texts: Record<string, string>) => void;
};

/** The fields of such a form, one below the other. */
export function SchemaFields({ fields, texts, problems, onChange }: SchemaFieldsProps) {
  return fields.map((field) => (
    <SchemaField
      key={field.name}
      field={field}
      value={texts[field.name] ?? field.initial}
      problem={problems[field.name]}
      onChange={(text) => onChange({ ...texts, [field.name]: text })}
    />
  ));
}
