import { Component, type ReactNode } from "react";
import { Failed } from "@/ui/feedback";

type BoundaryProps = { children: ReactNode /** Another value here tries again. */; resetOn?: string };

/** A part that breaks is told in its place; the rest of the page goes on. */
export class Boundary extends Component<BoundaryProps, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidUpdate(before: BoundaryProps) {
    if (this.state.error && before.resetOn !== this.props.resetOn) this.setState({ error: null });
  }

  override render() {
    const { error } = this.state;
    return error ? <Failed error={error} onRetry={() => this.setState({ error: null })} /> : this.props.children;
  }
}
