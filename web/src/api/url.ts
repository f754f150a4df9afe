/** Where the server answers: the addresses below `/api/v1`. */

export const API = "/api/v1";

export type Query = Record<string, string | number | readonly string[] | null | undefined>;

export function urlOf(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) params.append(name, String(each));
  }
  const text = params.toString();
  return `${API}${path}${text ? `?${text}` : ""}`;
}

export const runPath = (run: string, rest = "") => `/runs/${encodeURIComponent(run)}${rest}`;

export const repoPath = (repo: string, rest = "") => `/repos/${encodeURIComponent(repo)}${rest}`;

/** The name of a flow in a path: it may have folders. */
export const flowPath = (flow: string) => flow.split("/").map(encodeURIComponent).join("/");

export const eventsUrl = (run: string, after: number) => urlOf(runPath(run, "/events"), { after });
