import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import { Loading } from "@/ui/feedback";

/**
 * A component whose code is loaded when it is first drawn, or earlier by `load`. It is there as soon as its code is;
 * React's `lazy` shows what stands in for it for 300 ms at least. Code that cannot be loaded is told by a Boundary.
 */
export function later<Props extends object>(
  fetchCode: () => Promise<ComponentType<Props>>,
  standIn: ReactNode = <Loading />,
) {
  let loaded: ComponentType<Props> | null = null;
  const load = async () => {
    loaded ??= await fetchCode();
    return loaded;
  };
  function Later(props: Props) {
    const [Loaded, setLoaded] = useState(() => loaded);
    const [error, setError] = useState<Error | null>(null);
    useEffect(() => {
      if (!Loaded) load().then((found) => setLoaded(() => found), setError);
    }, [Loaded]);
    if (error) throw error;
    return Loaded ? <Loaded {...props} /> : standIn;
  }
  return Object.assign(Later, { load });
}
