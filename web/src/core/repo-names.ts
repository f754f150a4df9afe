/** Names of repositories: the same rule as on the server, told while the user types. */

export const REPO_NAME_RULE = "Lowercase letters, digits, '.', '_' and '-'; at most 64.";

/** What is wrong with a name, in words; null for a valid one. */
export function problemOfRepoName(name: string): string | null {
  if (name === "") return "Enter a name.";
  if (name.length > 64) return "Use at most 64 characters.";
  if (/[A-Z]/.test(name)) return "Use lowercase letters.";
  const wrong = /[^a-z0-9._-]/.exec(name)?.[0];
  if (wrong !== undefined) return wrong === " " ? "Use '-' instead of a space." : `'${wrong}' is not allowed.`;
  if (!/^[a-z0-9]/.test(name)) return "Begin with a letter or digit.";
  if (name.includes("..")) return "'..' is not allowed.";
  const ending = [".git", ".lock", "."].find((each) => name.endsWith(each));
  return ending === undefined ? null : `A name cannot end with '${ending}'.`;
}
