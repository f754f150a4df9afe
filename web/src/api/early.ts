/** What was asked for before the application was there: `public/first.js` asks, and who needs the answer takes it. */

declare global {
  interface Window {
    asked?: Record<string, { answer: Promise<Response>; leave: () => void }>;
  }
}

/** As `fetch`; an answer that was asked for early is taken, once, for it is read once. */
export function send(url: string, request: RequestInit): Promise<Response> {
  const early = window.asked?.[url];
  if (!early || (request.method ?? "GET") !== "GET") return fetch(url, request);
  delete window.asked?.[url];
  request.signal?.addEventListener("abort", early.leave);
  return early.answer;
}
