import { useCallback, useRef } from "react";

/** The key of a request: the same request again has the same one, so that the server executes it once. */
export function useRequestKey(): (request: object) => string {
  const sent = useRef({ body: "", key: "" });
  return useCallback((request) => {
    const body = JSON.stringify(request);
    if (sent.current.body !== body) sent.current = { body, key: crypto.randomUUID() };
    return sent.current.key;
  }, []);
}
