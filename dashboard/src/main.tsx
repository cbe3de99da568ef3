/** Begins. */

import { render } from "preact";
import { App } from "./App.tsx";
import { follow } from "./route.ts";
import "./style/base.css";
import "./style/parts.css";
import "./style/views.css";
import { followTheme } from "./theme.ts";

follow();
followTheme();
const place = document.getElementById("app");
if (place !== null) render(<App />, place);
