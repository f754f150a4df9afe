import { useState } from "react";

/** Ask the server for something; null when it was done, or why it was not. */
export type Ask<Form> = (form: Form) => Promise<string | null>;

/** What a dialog does when it is sent: it closes when that was done, else it stays and says why. */
export function useSubmit<Form>(ask: Ask<Form>, onDone: () => void) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (form: Form) => {
    if (isBusy) return;
    setBusy(true);
    const refused = await ask(form);
    setBusy(false);
    setProblem(refused);
    if (refused === null) onDone();
  };
  return { isBusy, problem, submit };
}
