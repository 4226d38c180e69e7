/* Memory for the JSON that the program prints. jansson leaves a field out when an allocation is refused, and tells
 * no one who does not ask at each of them. */
#ifndef PLIM_TOOLS_PLIMSOLL_JSON_OUTPUT_H
#define PLIM_TOOLS_PLIMSOLL_JSON_OUTPUT_H

/* From now on refusals are noticed; to be called before anything else of jansson's. */
void json_output_watch(void);

/* The exit status of a command that ended with `status`: that of PLIM_ENOMEM, with a sentence on stderr, when it ended
 * well and its output may lack something. */
int json_output_end(int status);

#endif
