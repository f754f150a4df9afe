import { useCallback, useMemo } from "react";
import { useSearchParams } from "wouter";
import { useMe } from "@/api/queries";
import type { TrialInfo } from "@/api/types";
import { groupsOf, MOST_COMPARED } from "@/core/trials";

/** The trials that are shown: those in the address, else the last ones that the user has started. */
export function useShownTrials(repo: string, listed: readonly TrialInfo[] | undefined) {
  const [params, setParams] = useSearchParams();
  const me = useMe().data?.name;
  const named = params.get("trials");
  const last = useMemo(() => groupsOf((listed ?? []).filter(({ by }) => by === me))[0], [listed, me]);
  const ids = named === null ? (last ?? []).map(({ id }) => id) : named.split(",").filter(Boolean);
  const key = ids.slice(0, MOST_COMPARED).join(",");
  const shown = useMemo(() => key.split(",").filter(Boolean), [key]);
  const show = useCallback(
    (trials: readonly string[]) => setParams({ repo, trials: trials.join(",") }, { replace: true }),
    [repo, setParams],
  );
  return { shown, show };
}
