// Comfort for who has a keyboard or a run in progress; every page can be read without it.
import { closeFacets } from "./facets.js";
import { listen } from "./keys.js";
import { watch } from "./live.js";

closeFacets();
listen();
watch();
