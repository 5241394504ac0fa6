// Keeps the list of jobs as it is in the service.

import { follow, freshPage, paced, renew } from "./live.js";

const update = paced(1000, async () => renew(await freshPage(), "#jobs"));
follow("/jobs/changes", { changed: update }, document.getElementById("live"), { returned: update });
