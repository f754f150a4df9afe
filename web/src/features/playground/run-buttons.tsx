import { Play, Square } from "lucide-react";
import { QUIET_MILLISECONDS } from "@/core/continuous";
import { keysOf } from "@/core/keys";
import type { useContinuous } from "@/features/playground/use-continuous";
import { Button } from "@/ui/button";
import { TextInput } from "@/ui/field";
import { FormProblem } from "@/ui/form-problem";
import { Kbd } from "@/ui/kbd";
import { Switch } from "@/ui/switch";

type RunButtonsProps = {
  agents: number;
  isStarting: boolean;
  isRunning: boolean;
  isCancelling: boolean;
  problem: string | null;
  continuous: Pick<ReturnType<typeof useContinuous>, "isOn" | "notice" | "isPending" | "change">;
  /** US dollars that continuous mode may spend in an hour, as it is typed. */
  hourly: string;
  onHourly: (hourly: string) => void;
  onRun: () => void;
  onCancel: () => void;
};

/** Run, cancel, and continuous mode with its budget. */
export function RunButtons(props: RunButtonsProps) {
  const { agents, isStarting, isRunning, isCancelling, problem, continuous, hourly, onHourly, onRun, onCancel } = props;
  return (
    <div className="space-y-2 border-line border-t pt-3">
      <FormProblem problem={problem} />
      <div className="flex flex-wrap items-center gap-2">
        <Button look="primary" icon={<Play className="size-3.5" />} isBusy={isStarting} onClick={onRun}>
          {agents > 1 ? `Run ${agents} agents` : "Run"}
        </Button>
        <span className="max-sm:hidden">
          <Kbd keys={keysOf("try")} />
        </span>
        {isRunning && (
          <>
            <Button look="danger" icon={<Square className="size-3" />} isBusy={isCancelling} onClick={onCancel}>
              Cancel
            </Button>
            <span className="max-sm:hidden">
              <Kbd keys={keysOf("cancel-trial")} />
            </span>
          </>
        )}
      </div>
      <div>
        <div className="flex flex-wrap items-center gap-x-1.5 text-sm">
          <Switch label="Continuous mode" isOn={continuous.isOn} onChange={continuous.change} />
          <span className="font-medium" aria-hidden>
            Continuous
          </span>
          <span className="text-muted">up to $</span>
          <TextInput
            aria-label="US dollars an hour"
            inputMode="decimal"
            className="w-14!"
            value={hourly}
            onChange={(event) => onHourly(event.target.value)}
          />
          <span className="text-muted">an hour</span>
        </div>
        <p className="text-muted text-sm">
          Runs {QUIET_MILLISECONDS / 1000} seconds after each change, and cancels the running trial first. Only costs
          that agents report count.
        </p>
      </div>
      {continuous.isPending && (
        <p role="status" className="text-muted text-sm">
          {isRunning ? "Waiting for the last trial to end." : "A change is about to be tried."}
        </p>
      )}
      {continuous.notice && (
        <p role="status" className="text-paused text-sm">
          {continuous.notice}
        </p>
      )}
    </div>
  );
}
