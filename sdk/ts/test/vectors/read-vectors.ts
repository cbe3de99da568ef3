/** The vectors that bind the client to the hub: `protocol/vectors` of the repository this test was built in. */

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The content of a file of vectors, in the shape that its row in `protocol/vectors/README.md` describes. */
export function readVectors<Shape>(file: string): Shape {
  return JSON.parse(readFileSync(join(vectorsFolder(), file), "utf8")) as Shape;
}

/** Where they are. */
export function vectorsFolder(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const vectors = join(folder, "protocol", "vectors");
    if (existsSync(vectors)) return vectors;
    if (folder === dirname(folder)) throw new Error("protocol/vectors is not above this test");
  }
}
