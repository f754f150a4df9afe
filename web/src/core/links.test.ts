import { expect, test } from "vitest";
import { boardLink, cardLink, repoLink, runsLink, startLink } from "@/core/links";

test("what is not given is left out of an address, and the rest is escaped", () => {
  expect(runsLink({ repo: "shop", ref: "topic/a&b" })).toBe("/?repo=shop&ref=topic%2Fa%26b");
  expect(runsLink({})).toBe("/");
  expect(repoLink("shop", { tab: "code", path: "src/a b.py", line: null })).toBe(
    "/repos/shop?tab=code&path=src%2Fa+b.py",
  );
  expect(startLink({ repo: "shop", flow: "nightly/full", ref: null, debug: 1 })).toBe(
    "/new?repo=shop&flow=nightly%2Ffull&debug=1",
  );
  expect(boardLink("shop")).toBe("/repos/shop/board");
  expect(boardLink("shop", { label: "front end", search: "" })).toBe("/repos/shop/board?label=front+end");
  expect(cardLink("shop-12", { tab: "diff" })).toBe("/cards/shop-12?tab=diff");
});
