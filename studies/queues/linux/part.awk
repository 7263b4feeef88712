# Passes on the structures and the functions of the data path of a qdisc's source.
/^static (inline )?unsigned int fq_codel_(hash|classify)/ { skip = 1 }
/^struct (fq_codel|pie)_(flow|sched_data) \{/ { take = 1 }
/^bool pie_drop_early|^static int pie_qdisc_enqueue|^void pie_(process_dequeue|calculate_probability)/ { take = 1 }
/^static .*(dequeue_head|flow_queue_add|fq_codel_drop|fq_codel_enqueue|dequeue_func|drop_func|fq_codel_dequeue[a-z_]*)\(struct/ { take = 1 }
take { print }
/^\}/ { take = 0 }
