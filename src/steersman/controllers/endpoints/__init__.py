"""Where the pods of a Service are: EndpointSlices, Endpoints, and slices that mirror Endpoints made by hand.

Three controllers of one package, as they share what makes a pod an endpoint and how slices are filled.
"""
