import { useState } from "react";
import { api } from "@/api/client";
import { useRequestKey } from "@/api/request-key";
import { trialApi } from "@/api/trial-client";
import { useRefreshTrials } from "@/api/trial-queries";
import type { TrialInfo } from "@/api/types";
import type { TrialAction } from "@/features/playground/trial-card";
import type { AskedTrial } from "@/features/playground/trial-dialogs";
import { copyText } from "@/ui/copy";
import { toast } from "@/ui/toast";

const MOST_COPIED = 200; // files of a diff

type TrialActionsProps = {
  repo: string;
  onOpenRun: (run: string) => void;
  onOpenCard: (card: string) => void;
  onShow: (trials: readonly string[]) => void;
  onEdit: (trial: TrialInfo) => void;
};

type Busy = { trial: string; action: TrialAction };

/** What the buttons of trials do: some ask first, others act at once. */
export function useTrialActions({ repo, onOpenRun, onOpenCard, onShow, onEdit }: TrialActionsProps) {
  const [asked, setAsked] = useState<AskedTrial | null>(null);
  const [busy, setBusy] = useState<readonly Busy[]>([]);
  const refresh = useRefreshTrials(repo);
  const keyOf = useRequestKey();

  /** Null when it was done, or why it was not. */
  const change = async (act: () => Promise<unknown>): Promise<string | null> => {
    try {
      await act();
      return null;
    } catch (error) {
      return (error as Error).message;
    } finally {
      await refresh();
    }
  };
  const act = async (trial: TrialInfo, action: TrialAction, doIt: () => Promise<unknown>) => {
    const own = { trial: trial.id, action };
    setBusy((now) => [...now, own]);
    const problem = await change(doIt);
    setBusy((now) => now.filter((each) => each !== own));
    if (problem !== null) toast(problem, "bad");
  };
  const cancel = (trial: TrialInfo) => act(trial, "cancel", () => trialApi.cancel(trial.id));
  const debug = async ({ run }: TrialInfo) => {
    await api.addBreakpoint(run, { tool: "any", once: true });
    const link = { label: "Open the run", onSelect: () => onOpenRun(run) };
    toast("The run pauses at its next tool call.", "good", link);
  };
  const again = async ({ id }: TrialInfo) => {
    const made = await trialApi.again(id, crypto.randomUUID());
    onShow([made.id]);
  };
  const begin = (trial: TrialInfo, action: TrialAction) => {
    switch (action) {
      case "cancel":
        return void cancel(trial);
      case "debug":
        return void act(trial, action, () => debug(trial));
      case "again":
        return void act(trial, action, () => again(trial));
      case "copy":
        return void act(trial, action, async () => copyText(await diffText(trial.id), "the diff"));
      case "edit":
        return onEdit(trial);
      case "save":
      case "card":
      case "delete":
        return setAsked({ kind: action, trial });
    }
  };
  const save = (trial: TrialInfo) => (form: { name: string }) =>
    change(async () => {
      const { branch } = await trialApi.save(trial.id, form.name, keyOf({ trial: trial.id, ...form }));
      toast(`Saved to ${branch}`, "good");
    });
  const makeCard = (trial: TrialInfo) => (form: { title: string }) =>
    change(async () => {
      const card = await trialApi.makeCard(trial.id, form.title, keyOf({ trial: trial.id, ...form }));
      const link = { label: "Open card", onSelect: () => onOpenCard(card.id) };
      toast(`Created card #${card.number}`, "good", link);
    });
  const remove = (trial: TrialInfo) => () =>
    change(async () => {
      await trialApi.remove(trial.id);
      toast("Deleted the trial", "good");
    });
  return {
    asked,
    busyOf: (trial: string) => busy.find((each) => each.trial === trial)?.action ?? null,
    begin,
    cancel,
    save,
    makeCard,
    remove,
    close: () => setAsked(null),
  };
}

/** All changes of a trial as one patch. */
async function diffText(trial: string): Promise<string> {
  const { files } = await trialApi.diff(trial);
  if (files.length > MOST_COPIED)
    throw new Error(`${files.length} files have changed: save the result to a branch, and use git diff.`);
  const patches: string[] = [];
  for (const { path } of files) patches.push((await trialApi.patch(trial, path)).text);
  return patches.join("");
}
