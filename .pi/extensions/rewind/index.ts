// Loads the extension when Pi runs in this repository: trying a change needs no install, only `/reload`.
// Nothing else belongs here; an installed copy would be a second one, which stands down with a notice.
export { default } from "../../../src/index.ts";
