// Removes what `npm run build` wrote, so that a renamed file does not stay in the package.
import { rmSync } from "node:fs";

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
