/** The commands that a repository on this server is used with, for the address that the page is open at. */

export const INGEST = "pitstop ingest";

export const cloneUrl = (repo: string, origin = location.origin) => `${origin}/git/${repo}.git`;

export const cloneCommand = (repo: string) => `git clone ${cloneUrl(repo)}`;

export const pushCommand = (branch: string) => `git push pitstop ${branch}`;

export const landCommand = (repo: string) => `pitstop land ${repo}`;

/** What an existing clone needs so that it can push here: git asks Pitstop for the token. */
export const remoteCommands = (repo: string, branch: string) => [
  `git config credential.${location.origin}.helper '!pitstop git-credential'`,
  `git remote add pitstop ${cloneUrl(repo)}`,
  pushCommand(branch),
];

/** Where the deliveries of a webhook go. */
export const hookUrl = (path: string) => `${location.origin}${path}`;
