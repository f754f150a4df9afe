/** Branches, tags and commits, as they are named on a page. */

const BRANCHES = "refs/heads/";
const TAGS = "refs/tags/";

export type RefKind = "branch" | "tag";

/** The first seven digits, as git shows a commit. */
export function shortSha(sha: string): string {
  return sha.slice(0, 7);
}

export function refKind(ref: string): RefKind {
  return ref.startsWith(TAGS) ? "tag" : "branch";
}

/** A branch or a tag by its own name. */
export function refName(ref: string): string {
  const prefix = [BRANCHES, TAGS].find((each) => ref.startsWith(each)) ?? "";
  return ref.slice(prefix.length);
}

type NamedBranch = { name: string; ahead: number | null };
type BranchRules = { default_branch: string; protected: readonly string[] };

/** Whether a branch has nothing that the default branch does not have, and may be deleted. */
export function isMerged(branch: NamedBranch, { default_branch, protected: kept }: BranchRules): boolean {
  return branch.ahead === 0 && branch.name !== default_branch && !kept.includes(branch.name);
}
