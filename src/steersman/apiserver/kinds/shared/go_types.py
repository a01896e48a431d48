"""Table of Go types for ``go_form``: field names in declaration order.

A line is a type and its fields. A field is a string unless marked: ``#`` number, ``!`` boolean, ``?`` may be absent
(null), ``~`` in the API's form, ``:T`` of type T (with ``?``: pointer, slice or map that may be nil), ``=name`` JSON
name that does not follow from Go's. ``...T`` embeds the fields of T.
"""

from typing import Final

TYPES: Final = """
# pods
PodTemplateSpec: ...ObjectMeta Spec:PodSpec
PodSpec: Volumes:Volume? InitContainers:Container? Containers:Container? EphemeralContainers:EphemeralContainer?
  RestartPolicy TerminationGracePeriodSeconds? ActiveDeadlineSeconds? DNSPolicy NodeSelector? ServiceAccountName
  AutomountServiceAccountToken? NodeName SecurityContext:PodSecurityContext? ImagePullSecrets:LocalObjectReference?
  Hostname Subdomain SetHostnameAsFQDN? Affinity:Affinity? SchedulerName Tolerations:Toleration? HostAliases:HostAlias?
  PriorityClassName Priority? PreemptionPolicy? DNSConfig:PodDNSConfig? ReadinessGates:PodReadinessGate?
  RuntimeClassName? Overhead? EnableServiceLinks? TopologySpreadConstraints:TopologySpreadConstraint? OS:Named?
  SchedulingGates:Named? ResourceClaims:PodResourceClaim? Resources:ResourceRequirements? HostnameOverride?
  SchedulingGroup:PodSchedulingGroup?
PodSchedulingGroup: PodGroupName?
PodSecurityContext: HostNetwork! HostPID! HostIPC! ShareProcessNamespace? HostUsers? SELinuxOptions:SELinuxOptions?
  WindowsOptions:WindowsOptions? RunAsUser? RunAsGroup? RunAsNonRoot? SupplementalGroups? SupplementalGroupsPolicy?
  FSGroup? FSGroupChangePolicy? Sysctls:NameValue? SeccompProfile:Profile? AppArmorProfile:Profile? SELinuxChangePolicy?
SecurityContext: Capabilities:Capabilities? Privileged? SELinuxOptions:SELinuxOptions? WindowsOptions:WindowsOptions?
  RunAsUser? RunAsGroup? RunAsNonRoot? ReadOnlyRootFilesystem? AllowPrivilegeEscalation? ProcMount?
  SeccompProfile:Profile? AppArmorProfile:Profile?
Capabilities: Add? Drop?
SELinuxOptions: User Role Type Level
WindowsOptions: GMSACredentialSpecName? GMSACredentialSpec? RunAsUserName? HostProcess?
Profile: Type LocalhostProfile?
NameValue: Name Value
Named: Name
LocalObjectReference: Name
Container: Name Image Command? Args? WorkingDir Ports:ContainerPort? EnvFrom:EnvFromSource? Env:EnvVar?
  Resources:ResourceRequirements ResizePolicy:ContainerResizePolicy? RestartPolicy?
  RestartPolicyRules:ContainerRestartRule? VolumeMounts:VolumeMount? VolumeDevices:VolumeDevice? LivenessProbe:Probe?
  ReadinessProbe:Probe? StartupProbe:Probe? Lifecycle:Lifecycle? TerminationMessagePath TerminationMessagePolicy
  ImagePullPolicy SecurityContext:SecurityContext? Stdin! StdinOnce! TTY!
EphemeralContainer: ...Container TargetContainerName
ContainerPort: Name HostPort# ContainerPort# Protocol HostIP
EnvFromSource: Prefix ConfigMapRef:NameOptional? SecretRef:NameOptional?
NameOptional: Name Optional?
EnvVar: Name Value ValueFrom:EnvVarSource?
EnvVarSource: FieldRef:ObjectFieldSelector? ResourceFieldRef:ResourceFieldSelector? ConfigMapKeyRef:KeySelector?
  SecretKeyRef:KeySelector? FileKeyRef:FileKeySelector?
ObjectFieldSelector: APIVersion FieldPath
ResourceFieldSelector: ContainerName Resource Divisor
KeySelector: Name Key Optional?
FileKeySelector: VolumeName Path Key Optional?
ResourceRequirements: Limits? Requests? Claims:ContainerClaim?
ContainerClaim: Name Request
ContainerResizePolicy: ResourceName RestartPolicy
ContainerRestartRule: Action ExitCodes:OnExitCodes?
OnExitCodes: Operator Values?
VolumeMount: Name ReadOnly! RecursiveReadOnly? MountPath SubPath MountPropagation? SubPathExpr
VolumeDevice: Name DevicePath
Probe: Exec:ExecAction? HTTPGet:HTTPGetAction? TCPSocket:TCPSocketAction? GRPC:GRPCAction? InitialDelaySeconds#
  TimeoutSeconds# PeriodSeconds# SuccessThreshold# FailureThreshold# TerminationGracePeriodSeconds?
Lifecycle: PostStart:LifecycleHandler? PreStop:LifecycleHandler? StopSignal?
LifecycleHandler: Exec:ExecAction? HTTPGet:HTTPGetAction? TCPSocket:TCPSocketAction? Sleep:SleepAction?
ExecAction: Command?
HTTPGetAction: Path Port# Host Scheme HTTPHeaders:NameValue?
TCPSocketAction: Port# Host
GRPCAction: Port# Service?
SleepAction: Seconds#
PodResourceClaim: Name ResourceClaimName? ResourceClaimTemplateName?
Toleration: Key Operator Value Effect TolerationSeconds?
HostAlias: IP Hostnames?
PodDNSConfig: Nameservers? Searches? Options:PodDNSConfigOption?
PodDNSConfigOption: Name Value?
PodReadinessGate: ConditionType
TopologySpreadConstraint: MaxSkew# TopologyKey WhenUnsatisfiable LabelSelector~ MinDomains? NodeAffinityPolicy?
  NodeTaintsPolicy? MatchLabelKeys?
Affinity: NodeAffinity:NodeAffinity? PodAffinity:PodAffinity? PodAntiAffinity:PodAffinity?
NodeAffinity: RequiredDuringSchedulingIgnoredDuringExecution:NodeSelector?
  PreferredDuringSchedulingIgnoredDuringExecution:PreferredSchedulingTerm?
NodeSelector: NodeSelectorTerms:NodeSelectorTerm?
NodeSelectorTerm: MatchExpressions:NodeSelectorRequirement? MatchFields:NodeSelectorRequirement?
NodeSelectorRequirement: Key Operator Values?
PreferredSchedulingTerm: Weight# Preference:NodeSelectorTerm
PodAffinity: RequiredDuringSchedulingIgnoredDuringExecution:PodAffinityTerm?
  PreferredDuringSchedulingIgnoredDuringExecution:WeightedPodAffinityTerm?
WeightedPodAffinityTerm: Weight# PodAffinityTerm:PodAffinityTerm
PodAffinityTerm: LabelSelector~ Namespaces? TopologyKey NamespaceSelector~ MatchLabelKeys? MismatchLabelKeys?

# volumes
Volume: Name HostPath:HostPath? EmptyDir:EmptyDir? GCEPersistentDisk:GCEPersistentDisk?
  AWSElasticBlockStore:AWSElasticBlockStore? GitRepo:GitRepo? Secret:SecretVolume? NFS:NFS? ISCSI:ISCSI?
  Glusterfs:Glusterfs? PersistentVolumeClaim:ClaimVolume? RBD:RBD? Quobyte:Quobyte? FlexVolume:FlexVolume?
  Cinder:Cinder? CephFS=cephfs:CephFS? Flocker:Flocker? DownwardAPI:DownwardAPIVolume? FC:FC? AzureFile:AzureFile?
  ConfigMap:ConfigMapVolume? VsphereVolume:VsphereVolume? AzureDisk:AzureDisk? PhotonPersistentDisk:PhotonDisk?
  Projected:Projected? PortworxVolume:Portworx? ScaleIO:ScaleIO? StorageOS=storageos:StorageOS? CSI:CSIVolume?
  Ephemeral:EphemeralVolume? Image:ImageVolume?
PersistentVolumeSource: GCEPersistentDisk:GCEPersistentDisk? AWSElasticBlockStore:AWSElasticBlockStore?
  HostPath:HostPath? Glusterfs:GlusterfsPersistent? NFS:NFS? RBD:RBDPersistent? Quobyte:Quobyte? ISCSI:ISCSIPersistent?
  FlexVolume:FlexPersistent? Cinder:CinderPersistent? CephFS=cephfs:CephFSPersistent? FC:FC? Flocker:Flocker?
  AzureFile:AzureFilePersistent? VsphereVolume:VsphereVolume? AzureDisk:AzureDisk? PhotonPersistentDisk:PhotonDisk?
  PortworxVolume:Portworx? ScaleIO:ScaleIOPersistent? Local:Local? StorageOS=storageos:StorageOSPersistent?
  CSI:CSIPersistent?
HostPath: Path Type?
EmptyDir: Medium SizeLimit?
GCEPersistentDisk: PDName FSType Partition# ReadOnly!
AWSElasticBlockStore: VolumeID FSType Partition# ReadOnly!
GitRepo: Repository Revision Directory
SecretVolume: SecretName Items:KeyToPath? DefaultMode? Optional?
ConfigMapVolume: Name Items:KeyToPath? DefaultMode? Optional?
KeyToPath: Key Path Mode?
NFS: Server Path ReadOnly!
ISCSI: ...ISCSIHead SecretRef:LocalObjectReference? InitiatorName?
ISCSIPersistent: ...ISCSIHead SecretRef:SecretReference? InitiatorName?
ISCSIHead: TargetPortal IQN Lun# ISCSIInterface FSType ReadOnly! Portals? DiscoveryCHAPAuth=chapAuthDiscovery!
  SessionCHAPAuth=chapAuthSession!
Glusterfs: EndpointsName=endpoints Path ReadOnly!
GlusterfsPersistent: ...Glusterfs EndpointsNamespace?
ClaimVolume: ClaimName ReadOnly!
RBD: ...RBDHead SecretRef:LocalObjectReference? ReadOnly!
RBDPersistent: ...RBDHead SecretRef:SecretReference? ReadOnly!
RBDHead: CephMonitors=monitors? RBDImage=image FSType RBDPool=pool RadosUser=user Keyring
Quobyte: Registry Volume ReadOnly! User Group Tenant
FlexVolume: Driver FSType SecretRef:LocalObjectReference? ReadOnly! Options?
FlexPersistent: Driver FSType SecretRef:SecretReference? ReadOnly! Options?
Cinder: VolumeID FSType ReadOnly! SecretRef:LocalObjectReference?
CinderPersistent: VolumeID FSType ReadOnly! SecretRef:SecretReference?
CephFS: Monitors? Path User SecretFile SecretRef:LocalObjectReference? ReadOnly!
CephFSPersistent: Monitors? Path User SecretFile SecretRef:SecretReference? ReadOnly!
Flocker: DatasetName DatasetUUID
DownwardAPIVolume: Items:DownwardAPIFile? DefaultMode?
DownwardAPIFile: Path FieldRef:ObjectFieldSelector? ResourceFieldRef:ResourceFieldSelector? Mode?
FC: TargetWWNs? Lun? FSType ReadOnly! WWIDs=wwids?
AzureFile: SecretName ShareName ReadOnly!
AzureFilePersistent: ...AzureFile SecretNamespace?
AzureDisk: DiskName DataDiskURI=diskURI CachingMode? FSType? ReadOnly? Kind?
VsphereVolume: VolumePath FSType StoragePolicyName StoragePolicyID
PhotonDisk: PdID FSType
Portworx: VolumeID FSType ReadOnly!
ScaleIO: Gateway System SecretRef:LocalObjectReference? ...ScaleIOTail
ScaleIOPersistent: Gateway System SecretRef:SecretReference? ...ScaleIOTail
ScaleIOTail: SSLEnabled! ProtectionDomain StoragePool StorageMode VolumeName FSType ReadOnly!
StorageOS: VolumeName VolumeNamespace FSType ReadOnly! SecretRef:LocalObjectReference?
StorageOSPersistent: VolumeName VolumeNamespace FSType ReadOnly! SecretRef:ObjectReference?
CSIVolume: Driver ReadOnly? FSType? VolumeAttributes? NodePublishSecretRef:LocalObjectReference?
CSIPersistent: Driver VolumeHandle ReadOnly! FSType VolumeAttributes? ControllerPublishSecretRef:SecretReference?
  NodeStageSecretRef:SecretReference? NodePublishSecretRef:SecretReference? ControllerExpandSecretRef:SecretReference?
  NodeExpandSecretRef:SecretReference?
Local: Path FSType?
SecretReference: Name Namespace
EventSource: Component Host
ObjectReference: Kind Namespace Name UID APIVersion ResourceVersion FieldPath
Projected: Sources:VolumeProjection? DefaultMode?
VolumeProjection: Secret:KeysProjection? DownwardAPI:DownwardAPIProjection? ConfigMap:KeysProjection?
  ServiceAccountToken:TokenProjection? ClusterTrustBundle:BundleProjection? PodCertificate:CertificateProjection?
KeysProjection: Name Items:KeyToPath? Optional?
DownwardAPIProjection: Items:DownwardAPIFile?
TokenProjection: Audience ExpirationSeconds# Path
BundleProjection: Name? SignerName? LabelSelector~ Optional? Path
CertificateProjection: SignerName KeyType MaxExpirationSeconds? CredentialBundlePath KeyPath CertificateChainPath
  UserAnnotations?
EphemeralVolume: VolumeClaimTemplate:ClaimTemplate?
ClaimTemplate: ...ObjectMeta Spec:PersistentVolumeClaimSpec
ImageVolume: Reference PullPolicy
PersistentVolumeClaimSpec: AccessModes? Selector~ Resources:VolumeResources VolumeName StorageClassName? VolumeMode?
  DataSource:TypedLocalReference? DataSourceRef:TypedReference? VolumeAttributesClassName?
VolumeResources: Limits? Requests?
TypedLocalReference: APIGroup? Kind Name
TypedReference: APIGroup? Kind Name Namespace?
VolumeNodeAffinity: Required:NodeSelector?

# other kinds of the core group
NodeAddress: Type Address
Taint: Key Value Effect TimeAdded?

# workloads, access, networks and so on
DeploymentStrategy: Type RollingUpdate:RollingUpdate?
DaemonSetUpdateStrategy: Type RollingUpdate:RollingUpdate?
RollingUpdate: MaxUnavailable# MaxSurge#
StatefulSetUpdateStrategy: Type RollingUpdate:RollingUpdateStatefulSet?
RollingUpdateStatefulSet: Partition# MaxUnavailable?
PodDisruptionBudgetSpec: MinAvailable? Selector~ MaxUnavailable? UnhealthyPodEvictionPolicy?
PodFailurePolicy: Rules:PodFailurePolicyRule?
PodFailurePolicyRule: Action OnExitCodes:PodFailureOnExitCodes? OnPodConditions:PodFailureOnCondition?
PodFailureOnExitCodes: ContainerName? Operator Values?
PodFailureOnCondition: Type Status
SuccessPolicy: Rules:SuccessPolicyRule?
SuccessPolicyRule: SucceededIndexes? SucceededCount?
UncountedTerminatedPods: Succeeded? Failed?
RoleRef: APIGroup Kind Name
ParentReference: Group Resource Namespace Name
ServiceCIDRSpec: CIDRs=cidrs?
FlowSchemaSpec: PriorityLevelConfiguration:Named MatchingPrecedence# DistinguisherMethod:FlowDistinguisherMethod?
  Rules:PolicyRulesWithSubjects?
FlowDistinguisherMethod: Type
PolicyRulesWithSubjects: Subjects:FlowSubject? ResourceRules:ResourcePolicyRule? NonResourceRules:NonResourcePolicyRule?
FlowSubject: Kind User:Named? Group:Named? ServiceAccount:ServiceAccountSubject?
ServiceAccountSubject: Namespace Name
ResourcePolicyRule: Verbs? APIGroups? Resources? ClusterScope! Namespaces?
NonResourcePolicyRule: Verbs? NonResourceURLs?
PriorityLevelConfigurationSpec: Type Limited:LimitedPriorityLevelConfiguration?
  Exempt:ExemptPriorityLevelConfiguration?
LimitedPriorityLevelConfiguration: NominalConcurrencyShares# LimitResponse:LimitResponse LendablePercent?
  BorrowingLimitPercent?
ExemptPriorityLevelConfiguration: NominalConcurrencyShares? LendablePercent?
LimitResponse: Type Queuing:QueuingConfiguration?
QueuingConfiguration: Queues# HandSize# QueueLengthLimit#
NonResourceAttributes: Path Verb
CSINodeDriver: Name NodeID=nodeID TopologyKeys? Allocatable?
VolumeAttachmentSpec: Attacher Source:VolumeAttachmentSource NodeName
VolumeAttachmentSource: PersistentVolumeName? InlineVolumeSpec~
ResourceClaimTemplateSpec: ...ObjectMeta Spec:ResourceClaimSpec
ResourceClaimSpec: Devices:DeviceClaim
DeviceClaim: Requests:DeviceRequest? Constraints:DeviceConstraint? Config:DeviceClaimConfiguration?
DeviceRequest: Name Exactly:ExactDeviceRequest? FirstAvailable:DeviceSubRequest?
ExactDeviceRequest: DeviceClassName Selectors:DeviceSelector? AllocationMode Count# AdminAccess?
  Tolerations:DeviceToleration? Capacity:CapacityRequirements?
DeviceSubRequest: Name DeviceClassName Selectors:DeviceSelector? AllocationMode Count# Tolerations:DeviceToleration?
  Capacity:CapacityRequirements?
DeviceAttribute: IntValue=int? BoolValue=bool? StringValue=string? VersionValue=version?
  IntValues=ints? BoolValues=bools? StringValues=strings? VersionValues=versions?
DeviceSelector: CEL:CELSelector?
CELSelector: Expression
DeviceToleration: Key Operator Value Effect TolerationSeconds?
CapacityRequirements: Requests?
DeviceConstraint: Requests? MatchAttribute? DistinctAttribute?
DeviceClaimConfiguration: Requests? Opaque:OpaqueConfiguration?
OpaqueConfiguration: Driver Parameters~
AllocationResult: Devices:DeviceAllocationResult NodeSelector:NodeSelector? AllocationTimestamp?
DeviceAllocationResult: Results:DeviceRequestAllocationResult? Config:DeviceAllocationConfiguration?
DeviceRequestAllocationResult: Request Driver Pool Device AdminAccess? Tolerations:DeviceToleration?
  BindingConditions? BindingFailureConditions? ShareID? ConsumedCapacity?
DeviceAllocationConfiguration: Source Requests? Opaque:OpaqueConfiguration?
CustomResourceDefinitionVersion: Name Served! Storage! Deprecated! DeprecationWarning? Schema~
  Subresources:CustomResourceSubresources?
  AdditionalPrinterColumns:PrinterColumn? SelectableFields:SelectableField?
CustomResourceSubresources: Status:CustomResourceStatus? Scale:CustomResourceScale?
CustomResourceStatus:
CustomResourceScale: SpecReplicasPath StatusReplicasPath LabelSelectorPath?
PrinterColumn: Name Type Format Description Priority# JSONPath
SelectableField: JSONPath
AuditAnnotation: Key ValueExpression
ValidationRule: Rule Message MessageExpression Reason? FieldPath OptionalOldSelf?
"""
