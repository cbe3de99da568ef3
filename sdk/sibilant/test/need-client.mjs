// Says what is missing if the client that these tests use was not built yet.
import { existsSync } from "node:fs";

if (!existsSync(new URL("../../ts/dist/index.js", import.meta.url))) {
  console.error("the TypeScript client is not built: run `npm ci && npm run build` in sdk/ts first");
  process.exit(1);
}
