import type { FormField } from "@/core/schema-form";
import { Checkbox, Field, Select, TextArea, TextInput } from "@/ui/field";

type SchemaFieldProps = { field: FormField; value: string; problem?: string; onChange: (value: string) => void };

/** One field of a form that a schema asks for. */
export function SchemaField({ field, value, problem, onChange }: SchemaFieldProps) {
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
          case "text":
            return <TextInput {...ids} value={value} onChange={(event) => onChange(event.target.value)} />;
        }
      }}
    </Field>
  );
}
