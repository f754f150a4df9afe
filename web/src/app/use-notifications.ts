import { useEffect, useRef } from "react";
import type { RunPageState } from "@/api/run-context";
import { wantsNotifications } from "@/app/theme";
import { wordsOf } from "@/core/addresses";
import type { Stopped } from "@/core/events";
import { tellPlace, tellReasons } from "@/core/status";
import { toast } from "@/ui/toast";

const SETTLED = 150; // milliseconds

type Told = Pick<RunPageState, "run" | "frame" | "selectFrame" | "detail">;

/** Tells of stops that the eye may miss: another frame's in passing, any at all outside a page that is not looked at. */
export function useNotifications({ run, frame, selectFrame, detail }: Told): void {
  const latest = useRef({ frame, selectFrame });
  latest.current = { frame, selectFrame };
  useEffect(() => {
    const tellOfOther = (event: Stopped) => {
      const { frame: steered, selectFrame: choose } = latest.current;
      const { stops } = run.snapshot();
      const isNews = event.frame !== steered && stops.some((stop) => stop.id === event.stop);
      if (!isNews || !stops.some((stop) => stop.frame === steered)) return;
      const told = `${event.frame} also paused ${tellPlace(event.position, wordsOf(event.step), event.reasons)}`;
      toast(told, "info", { label: "Show", onSelect: () => choose(event.frame) });
    };
    return run.hear((event) => {
      if (event.kind !== "debug.stopped") return;
      setTimeout(() => tellOfOther(event), SETTLED); // by then the page has followed it, if it does
      if (document.visibilityState === "hidden" && wantsNotifications()) {
        new Notification(`${detail.flow} paused`, {
          body: `${tellPlace(event.position, wordsOf(event.step), event.reasons)} (${tellReasons(event.reasons)})`,
          tag: run.id,
        });
      }
    });
  }, [run, detail.flow]);
}
