/** Addresses of pages, with what they show in their query. */

type Query = Readonly<Record<string, string | number | null | undefined>>;

function withQuery(path: string, query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

/** The page of a run; with `fix`, the dialog that starts a fix loop is open. */
export const runLink = (run: string, query: { fix?: 1 } = {}) => withQuery(`/runs/${encodeURIComponent(run)}`, query);

export const runsLink = (filter: { repo?: string; ref?: string; flow?: string }) => withQuery("/", filter);

export const repoLink = (repo: string, query: Query = {}) => withQuery(`/repos/${encodeURIComponent(repo)}`, query);

export const boardLink = (repo: string, filter: { label?: string; agent?: string; search?: string } = {}) =>
  withQuery(`/repos/${encodeURIComponent(repo)}/board`, filter);

export const cardLink = (card: string, query: Query = {}) => withQuery(`/cards/${encodeURIComponent(card)}`, query);

/** The playground of a repository, with the trials that it shows. */
export const playgroundLink = (shown: { repo?: string; trials?: string } = {}) => withQuery("/playground", shown);

/** The start page; with `debug`, the run is to pause on its first step. */
export const startLink = (flow: { repo?: string; flow?: string; ref?: string | null; debug?: 1 }) =>
  withQuery("/new", flow);
