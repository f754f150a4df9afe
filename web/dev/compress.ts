/** Writes each built file beside itself as Brotli and as gzip, so that the server has nothing to compress. */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Plugin } from "vite";

const LEAST = 1000; // bytes: below it nothing is won
const TEXT = /\.(js|css|html|svg)$/;

export function compress(): Plugin {
  return {
    name: "pitstop-compress",
    apply: "build",
    async writeBundle({ dir = "" }, bundle) {
      for (const name of Object.keys(bundle).filter((each) => TEXT.test(each))) {
        const bytes = await readFile(join(dir, name));
        if (bytes.length < LEAST) continue;
        const best = { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } };
        await writeFile(join(dir, `${name}.br`), await promisify(brotliCompress)(bytes, best));
        await writeFile(join(dir, `${name}.gz`), await promisify(gzip)(bytes, { level: 9 }));
      }
    },
  };
}
